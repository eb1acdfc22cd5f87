"""The rollouts of one uid: while they come together, and what they came to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ...errors import RankBufferError
from ...open_group import AsyncGroup
from ..rollouts.rows import Key, Rollout
from ..verdict import STATUS, Verdict

log = logging.getLogger(__name__)


@dataclass
class Member:
    """One rollout of a group.

    ``index`` is its place in the group's result; -1 is none, and ``status`` says why.
    """

    slot: str | None
    digest: str
    index: int = -1
    status: str = "late"

    @classmethod
    def of(cls, rollout: Rollout) -> Member:
        return cls(rollout.slot, rollout.digest, status=rollout.failure or "late")


def find(members: Sequence[Member], rollout: Rollout) -> Member | None:
    """The member that this row is again, if any: under the same slot with the same text."""
    if rollout.slot is not None:
        members = [m for m in members if m.slot == rollout.slot]
    return next((m for m in members if m.digest == rollout.digest), None)


@dataclass
class RolloutGroup:
    """A group whose rollouts come one by one. Lives on one event loop.

    ``patience`` is how long it waits for the next one. A row that nothing tells
    apart from one that came, a *twin*, is a sibling that wrote the same or only
    padding of the batch: it waits until the group is full without it, or until
    nothing else came for ``twin_wait``.
    """

    key: Key
    expected: int
    patience: float
    twin_wait: float
    members: list[Member] = field(default_factory=list)
    given_up: bool = False
    full: asyncio.Event = field(default_factory=asyncio.Event)
    """Takes no more."""
    _fed: int = 0
    _unusable: int = 0  # came and cannot be scored
    _twins: list[tuple[Member, Rollout]] = field(default_factory=list)
    _touched: float = 0.0
    _opened: asyncio.Event = field(default_factory=asyncio.Event)
    _feed: AsyncGroup | None = None

    @property
    def came(self) -> int:
        return self._fed + self._unusable

    def open(self, feed: AsyncGroup) -> None:
        """The scorer is ready for the group's responses."""
        self._feed = feed
        self._touch()
        self._opened.set()
        if self.given_up:
            self.give_up()

    def close(self) -> None:
        """Ends it with what came; nobody waits for it to open any more."""
        self.full.set()
        self._opened.set()

    def give_up(self) -> None:
        """Ends it without a change of the buffer, unless it has made one already."""
        self.given_up = True
        self.full.set()
        if self._feed is not None:
            self._feed.stop()

    async def join(self, rollout: Rollout, *, padded: bool) -> Member:
        """``padded``: rows may be there twice."""
        again = find(self.members, rollout)
        if again is None and self._taken(rollout):
            return Member.of(rollout)  # is told that it is late, and takes no sibling's place
        if again is not None and (rollout.slot is not None or self.full.is_set()):
            return again
        member = Member.of(rollout)
        self.members.append(member)
        self._touch()
        if again is not None and padded:
            self._twins.append((member, rollout))
        else:
            await self._take(member, rollout)
        return member

    async def until_full(self) -> None:
        """Until all rollouts came, or none came for too long."""
        while not self.full.is_set():
            wait = min(self.patience, self.twin_wait) if self._twins else self.patience
            left = self._touched + wait - asyncio.get_running_loop().time()
            if left > 0:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self.full.wait(), left)
            elif self._twins:
                await self.settle_twins()
                self._touch()
            else:
                came = f"{self.came} of {self.expected} rollouts came"
                log.warning(
                    "rankbuffer: uid %s: %s, and none for %.0f s; scored without the rest",
                    self.key[0], came, self.patience,
                )  # fmt: skip
                return

    async def settle_twins(self) -> None:
        """Twins become siblings while there is room; the others were padding."""
        twins, self._twins = self._twins, []
        for member, rollout in twins:
            if self.came < self.expected and not self.full.is_set():
                await self._take(member, rollout)
            else:
                first = find(self.members, rollout) or member
                member.index = first.index

    async def _take(self, member: Member, rollout: Rollout) -> None:
        await self._opened.wait()
        if self._feed is None or self.full.is_set():
            return
        if rollout.failure:
            self._unusable += 1
        else:
            member.index = self._fed
            self._fed += 1
            _add(self._feed, member.index, rollout)
        if self.came >= self.expected:
            self.full.set()

    def _taken(self, rollout: Rollout) -> bool:
        """Whether the rollout's slot is another text's."""
        return rollout.slot is not None and any(m.slot == rollout.slot for m in self.members)

    def _touch(self) -> None:
        self._touched = asyncio.get_running_loop().time()


def _add(feed: AsyncGroup, index: int, rollout: Rollout) -> None:
    try:
        feed.add_nowait(rollout.text, index, eligible=rollout.eligible)
    except RankBufferError as error:
        log.error("rankbuffer: a rollout of query %.80r: %.200s", rollout.query.query_id, error)
        feed.add_nowait("", index)  # unusable text is no answer


@dataclass(frozen=True)
class EndedGroup:
    """What a group came to: a verdict for each place of its result, or one failure for all."""

    members: Sequence[Member]
    verdicts: Sequence[Verdict] = ()
    failure: Verdict | None = None

    def of(self, member: Member) -> Verdict:
        if self.failure is not None:
            return self.failure
        if 0 <= member.index < len(self.verdicts):
            return self.verdicts[member.index]
        # The group went without it: the group's mean, so no advantage.
        came = [v for v in self.verdicts if v.status != STATUS["cancelled"]]
        mean = sum(v.reward for v in came) / len(came) if came else 0.0
        return Verdict(reward=mean, status=STATUS[member.status], group_status=1)

    def answer(self, rollout: Rollout) -> Verdict:
        """For a rollout that comes again, or too late."""
        return self.of(find(self.members, rollout) or Member.of(rollout))
