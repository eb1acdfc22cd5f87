"""Brings the rollouts of a uid together and feeds them to the scorer as they come.

verl computes rewards one trajectory at a time. A group opens with its first
rollout and ends with its last, or when none came for ``deadline_s``; every
rollout then gets its part of the result. No verl and no Ray in here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..errors import RankBufferError
from ..open_group import AsyncGroup
from ..scorer import Scorer
from ..types import GroupResult
from .extra import STATUS, Verdict, failed, verdicts
from .lost import Lost
from .rows import Key, Rollout
from .settings import RendezvousSettings

log = logging.getLogger(__name__)

_REMEMBERED = 1024
"""Groups whose verdicts are kept for the duplicates with which verl pads batches."""


@dataclass
class _Member:
    """One rollout of an open group. Held: perhaps only padding.

    ``status`` is that of a rollout which is no part of the result.
    """

    slot: str | None
    digest: str
    index: int = -1
    held: Rollout | None = None
    status: str = "late"


@dataclass
class _Open:
    key: Key
    expected: int
    timed: bool  # batch-path rows without a uid: ended by batch_wait_s
    members: list[_Member] = field(default_factory=list)
    fed: int = 0
    missing: int = 0  # came and cannot be scored
    touched: float = 0.0
    full: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    feed: AsyncGroup | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    failure: Verdict | None = None
    task: asyncio.Task[None] | None = None

    @property
    def came(self) -> int:
        return self.fed + self.missing


@dataclass(frozen=True)
class _Ended:
    members: list[_Member]
    verdicts: list[Verdict]
    failure: Verdict | None

    def of(self, member: _Member) -> Verdict:
        if self.failure is not None:
            return self.failure
        if 0 <= member.index < len(self.verdicts):
            return self.verdicts[member.index]
        return self._without(member.status)

    def _without(self, status: str) -> Verdict:
        """For a rollout whose group went without it: the group's mean, so no advantage."""
        if self.failure is not None:
            return self.failure
        came = [v for v in self.verdicts if v.status != STATUS["cancelled"]]
        mean = sum(v.reward for v in came) / len(came) if came else 0.0
        return Verdict(reward=mean, status=STATUS[status], group_status=1)


class Rendezvous:
    """All groups of one owner. Its methods run on one event loop."""

    def __init__(
        self,
        scorer: Scorer,
        settings: RendezvousSettings,
        group_size: int,
        labels: Callable[[Rollout], dict[str, Any]] = lambda rollout: {},
        *,
        padded: bool = True,
    ) -> None:
        """``padded``: the batch path repeats rows, which it does for more than one worker."""
        self._scorer = scorer
        self._settings = settings
        self._size = group_size
        self._labels = labels
        self._padded = padded
        self._open: dict[Key, _Open] = {}
        self._ended: OrderedDict[Key, _Ended] = OrderedDict()
        self._lost = Lost()
        self._validating = 0

    async def score(self, rollout: Rollout) -> Verdict:
        """The rollout's verdict, once its group is done. Never raises but for cancellation."""
        try:
            if rollout.validate and rollout.failure:
                return failed(rollout.failure)
            if rollout.validate:
                return await self._validate(rollout)
            return await self._train(rollout)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("rankbuffer: scoring a rollout of uid %s failed", rollout.uid)
            return failed("error")

    def lose(self, keys: list[Key]) -> None:
        """Groups that died with an earlier owner: what still comes of them ends at once."""
        self._lost.add(keys)
        for group in list(self._open.values()):
            if group.key in self._lost:
                group.full.set()

    @property
    def busy(self) -> int:
        """Groups and validation rollouts in flight."""
        return len(self._open) + self._validating

    async def drain(self) -> None:
        """Ends every open group with what came."""
        groups = list(self._open.values())
        for group in groups:
            group.full.set()
        await asyncio.gather(*(g.task for g in groups if g.task), return_exceptions=True)

    # Validation: each response against its query's buffer, which it never changes.

    async def _validate(self, rollout: Rollout) -> Verdict:
        query = rollout.query
        started = time.monotonic()
        self._validating += 1
        try:
            result = await self._scorer.score_group_async(
                query.query_id,
                [rollout.text],
                query=query.prompt,
                rubrics=query.rubrics or None,
                ranked=query.ranked or None,
                reference=query.reference,
                eligible=[rollout.eligible],
                step=rollout.step,
                update=False,
                validate=True,
            )
        except RankBufferError as error:
            log.error("rankbuffer: validation of query %.80r: %s", query.query_id, error)
            return failed("rejected")
        finally:
            self._validating -= 1
        return verdicts(result, time.monotonic() - started)[0]

    # Training.

    async def _train(self, rollout: Rollout) -> Verdict:
        key = rollout.key
        if key in self._lost:
            return failed("lost", "lost")
        group = self._open.get(key)
        ended = self._ended.get(key)
        if group is None and ended is not None and rollout.has_uid:
            return ended.of(_known(ended.members, rollout) or _outside(rollout))
        if group is not None and group.full.is_set():
            group = await self._next(key, group, rollout)
            if group is None:
                return await self._train(rollout)
        if group is None:
            group = self._begin(key, rollout)
        return await self._join(group, rollout)

    async def _next(self, key: Key, group: _Open, rollout: Rollout) -> _Open | None:
        """A rollout for a group that takes no more: one of its own again, or too many."""
        member = _known(group.members, rollout)
        if member is not None:
            return group
        if group.task is not None:
            await asyncio.wait([group.task])
        return None

    def _begin(self, key: Key, rollout: Rollout) -> _Open:
        group = _Open(key=key, expected=self._size, timed=not rollout.has_uid)
        self._open[key] = group
        group.task = asyncio.create_task(self._run(group, rollout))
        return group

    async def _join(self, group: _Open, rollout: Rollout) -> Verdict:
        member = _known(group.members, rollout)
        if member is None and _taken(group.members, rollout):
            # It is told that it is late, and takes no sibling's place.
            member = _outside(rollout)
        elif member is None or (rollout.slot is None and not group.full.is_set()):
            # A row that nothing tells apart from one that came: padding, or a sibling that
            # wrote the same. It waits until the group is full without it, or nothing comes.
            held = rollout if member is not None and self._padded else None
            member = _Member(slot=rollout.slot, digest=rollout.digest, held=held)
            group.members.append(member)
            group.touched = asyncio.get_running_loop().time()
            if held is None:
                await self._feed(group, member, rollout)
        assert group.task is not None
        await asyncio.wait([group.task])
        return _Ended(group.members, group.verdicts, group.failure).of(member)

    async def _feed(self, group: _Open, member: _Member, rollout: Rollout) -> None:
        await group.opened.wait()
        if group.feed is None or group.full.is_set():
            return
        if rollout.failure:
            member.status = rollout.failure
            group.missing += 1
        else:
            member.index = group.fed
            group.fed += 1
            self._add(group.feed, member.index, rollout)
        if group.came >= group.expected:
            group.full.set()

    def _add(self, feed: AsyncGroup, index: int, rollout: Rollout) -> None:
        try:
            feed.add_nowait(rollout.text, index, eligible=rollout.eligible)
        except RankBufferError as error:
            log.error("rankbuffer: a rollout of query %.80r: %s", rollout.query.query_id, error)
            feed.add_nowait("", index)  # unusable text is no answer

    async def _run(self, group: _Open, first: Rollout) -> None:
        """The group's life, from its first rollout to its verdicts."""
        query = first.query
        try:
            async with self._scorer.open_group(
                query.query_id,
                expected=group.expected,
                query=query.prompt,
                rubrics=query.rubrics or None,
                ranked=query.ranked or None,
                reference=query.reference,
                step=first.step,
                **self._labels(first),
            ) as feed:
                group.feed = feed
                group.opened.set()
                await self._until_full(group)
                await self._release(group)
                last = time.monotonic()
            self._settle(group, feed.result, time.monotonic() - last)
        except RankBufferError as error:
            log.error("rankbuffer: group of query %.80r: %s", query.query_id, error)
            group.failure = failed("rejected")
        except Exception:
            log.exception("rankbuffer: group of query %.80r failed", query.query_id)
            group.failure = failed("error")
        finally:
            group.full.set()
            group.opened.set()
            self._end(group)

    async def _until_full(self, group: _Open) -> None:
        """Until all rollouts came, or none came for too long."""
        loop = asyncio.get_running_loop()
        group.touched = loop.time()
        patience = self._settings.batch_wait_s if group.timed else self._settings.deadline_s
        while not group.full.is_set():
            # Rows that may be padding are siblings after all when nothing else comes.
            waits = [patience]
            if any(m.held for m in group.members):
                waits.append(self._settings.batch_wait_s)
            left = group.touched + min(waits) - loop.time()
            if left > 0:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(group.full.wait(), left)
                continue
            if len(waits) > 1:
                await self._release(group)
                group.touched = loop.time()
                continue
            log.warning(
                "rankbuffer: uid %s: %d of %d rollouts came within %.0f s; scored without the rest",
                group.key[0], group.came, group.expected, patience,
            )  # fmt: skip
            return

    async def _release(self, group: _Open) -> None:
        """Held rows become siblings while there is room; the others were padding."""
        for member in group.members:
            rollout, member.held = member.held, None
            if rollout is None:
                continue
            if group.came < group.expected and not group.full.is_set():
                await self._feed(group, member, rollout)
            else:
                twins = (m.index for m in group.members if m.digest == member.digest)
                member.index = max(twins, default=-1)

    def _settle(self, group: _Open, result: GroupResult, judge_s: float) -> None:
        group.verdicts = verdicts(result, judge_s)
        if result.group_status != "ok":
            seen = dict(Counter(result.status))
            log.warning(
                "rankbuffer: group %s is %s: %s", result.group_id, result.group_status, seen
            )
            log.debug(
                "rankbuffer: group %s: %.300s", result.group_id, result.error
            )  # may quote text
        if group.key in self._lost:
            group.failure = failed("lost", "lost")

    def _end(self, group: _Open) -> None:
        self._open.pop(group.key, None)
        self._ended[group.key] = _Ended(group.members, group.verdicts, group.failure)
        while len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)


def _known(members: list[_Member], rollout: Rollout) -> _Member | None:
    """The member that this row is again, if any: under the same slot with the same text."""
    if rollout.slot is not None:
        members = [m for m in members if m.slot == rollout.slot]
    return next((m for m in members if m.digest == rollout.digest), None)


def _outside(rollout: Rollout) -> _Member:
    """Stands for a rollout that its group goes without."""
    return _Member(rollout.slot, rollout.digest, status=rollout.failure or "late")


def _taken(members: list[_Member], rollout: Rollout) -> bool:
    """Whether the rollout's slot is another text's."""
    return rollout.slot is not None and any(
        m.slot == rollout.slot and m.digest != rollout.digest for m in members
    )
