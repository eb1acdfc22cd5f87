"""The rollouts of one uid: a group that is still open, and a group that has ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ...errors import RankBufferError
from ...open_group import AsyncGroup
from ..rollout_reward import STATUS, RolloutReward
from ..rollouts.rows import Key, Rollout

log = logging.getLogger(__name__)


@dataclass(slots=True)  # an owner keeps many
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
    """A group whose rollouts come one by one. All its methods run on one event loop.

    It waits ``wait_s`` for the next rollout. A row that equals an earlier one is a
    *duplicate*: either a rollout with the same text, or a copy with which verl padded its
    batch. A duplicate waits until the group is full without it, or until nothing else came
    for ``duplicate_wait_s``.
    """

    key: Key
    expected: int
    wait_s: float
    duplicate_wait_s: float
    members: list[Member] = field(default_factory=list)
    full: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the group takes no more rollouts."""
    _added: int = 0
    _unusable: int = 0  # came and cannot be scored
    _duplicates: list[tuple[Member, Rollout]] = field(default_factory=list)
    _touched: float = 0.0
    _opened: asyncio.Event = field(default_factory=asyncio.Event)
    _scoring: AsyncGroup | None = None

    @property
    def came(self) -> int:
        return self._added + self._unusable

    def open(self, scoring: AsyncGroup) -> None:
        """The scorer is ready for the group's responses."""
        self._scoring = scoring
        self._touch()
        self._opened.set()

    def close(self) -> None:
        """Ends the group with the rollouts that came."""
        self.full.set()
        self._opened.set()

    async def join(self, rollout: Rollout, *, padded: bool) -> Member:
        """``padded``: rows may be there twice."""
        again = find(self.members, rollout)
        if again is None and self._taken(rollout):
            return Member.of(rollout)  # late, and takes no other rollout's place
        if again is not None and (rollout.slot is not None or self.full.is_set()):
            return again
        member = Member.of(rollout)
        self.members.append(member)
        self._touch()
        if again is not None and padded:
            self._duplicates.append((member, rollout))
        else:
            await self._take(member, rollout)
        return member

    async def until_full(self) -> None:
        """Returns when all rollouts came, or when none came for too long."""
        while not self.full.is_set():
            wait = min(self.wait_s, self.duplicate_wait_s) if self._duplicates else self.wait_s
            left = self._touched + wait - asyncio.get_running_loop().time()
            if left > 0:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self.full.wait(), left)
            elif self._duplicates:
                await self.settle_duplicates()
                self._touch()
            else:
                came = f"{self.came} of {self.expected} rollouts came"
                log.warning(
                    "rankbuffer: uid %s: %s, and none for %.0f s; scored without the rest",
                    self.key[0], came, self.wait_s,
                )  # fmt: skip
                return

    async def settle_duplicates(self) -> None:
        """Duplicates join the group while it has room; the others were padding."""
        duplicates, self._duplicates = self._duplicates, []
        for member, rollout in duplicates:
            if self.came < self.expected and not self.full.is_set():
                await self._take(member, rollout)
            else:
                first = find(self.members, rollout) or member
                member.index = first.index

    async def _take(self, member: Member, rollout: Rollout) -> None:
        await self._opened.wait()
        if self._scoring is None or self.full.is_set():
            return
        if rollout.failure:
            self._unusable += 1
        else:
            member.index = self._added
            self._added += 1
            _add(self._scoring, member.index, rollout)
        if self.came >= self.expected:
            self.full.set()

    def _taken(self, rollout: Rollout) -> bool:
        """Whether another text has the rollout's slot."""
        return rollout.slot is not None and any(m.slot == rollout.slot for m in self.members)

    def _touch(self) -> None:
        self._touched = asyncio.get_running_loop().time()


def _add(scoring: AsyncGroup, index: int, rollout: Rollout) -> None:
    try:
        scoring.add_nowait(rollout.text, index, eligible=rollout.eligible)
    except RankBufferError as error:
        log.error("rankbuffer: a rollout of query %.80r: %.200s", rollout.query.query_id, error)
        scoring.add_nowait("", index)  # a text that cannot be used counts as empty


@dataclass(frozen=True)
class EndedGroup:
    """What a group came to: a reward for each response of its result, or one for all."""

    members: Sequence[Member]
    rewards: Sequence[RolloutReward] = ()
    failure: RolloutReward | None = None

    def of(self, member: Member) -> RolloutReward:
        if self.failure is not None:
            return self.failure
        if 0 <= member.index < len(self.rewards):
            return self.rewards[member.index]
        # The group was scored without it: the group's mean, so that it has no advantage.
        came = [r.reward for r in self.rewards if r.status != STATUS["cancelled"]]
        mean = sum(came) / len(came) if came else 0.0
        return RolloutReward(reward=mean, status=STATUS[member.status], group_status=1)

    def reward_of(self, rollout: Rollout) -> RolloutReward:
        """The reward of a rollout that comes again, or too late."""
        return self.of(find(self.members, rollout) or Member.of(rollout))
