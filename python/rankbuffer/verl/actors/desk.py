"""An owner's side of its links: rollouts in, verdicts out, each worker's in its own box."""

from __future__ import annotations

import asyncio
import logging
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from ..rollouts.rows import Key, Rollout
from ..verdict import LOST, Verdict, failed

log = logging.getLogger(__name__)

_WAIT_S = 5.0  # a worker that is told nothing for so long asks again

Ready = tuple[str, list[tuple[int, Verdict]]]
"""Which life of the owner answers, and its verdicts by number."""


@dataclass(frozen=True)
class Handed:
    """A rollout under the number that its verdict comes back with.

    ``again``: an earlier life of the owner had it.
    """

    number: int
    rollout: Rollout
    again: bool = False


class Scoring(Protocol):
    """What an owner does."""

    async def score(self, rollout: Rollout) -> Verdict: ...

    def lose(self, keys: list[Key]) -> None: ...


@dataclass
class _Box:
    """What one worker handed over and has not confirmed the verdict of."""

    taken: set[int] = field(default_factory=set)
    ready: dict[int, Verdict] = field(default_factory=dict)
    some: asyncio.Event = field(default_factory=asyncio.Event)


class Desk:
    """One life of an owner, as its workers' links see it. Lives on one event loop.

    Whatever a link sends may come twice, and every answer may get lost on its
    way: a worker says hello again and sends what it has no verdict of.
    """

    def __init__(self, owner: Scoring) -> None:
        self._owner = owner
        self._life = uuid.uuid4().hex
        self._boxes: dict[str, _Box] = {}
        self._scoring: set[asyncio.Task[None]] = set()

    async def hello(self, worker: str, lost: list[Key]) -> str:
        """A worker is there; ``lost`` names groups that died with an earlier life."""
        self._owner.lose(lost)
        self._boxes.setdefault(worker, _Box())
        return self._life

    async def submit(self, worker: str, handed: list[Handed]) -> None:
        """Takes rollouts and returns at once."""
        box = self._boxes.setdefault(worker, _Box())
        self._owner.lose([h.rollout.key for h in handed if h.again and h.rollout.has_uid])
        for one in handed:
            if one.number in box.taken:
                continue
            box.taken.add(one.number)
            task = asyncio.create_task(self._score(box, one))
            self._scoring.add(task)
            task.add_done_callback(self._scoring.discard)

    async def collect(self, worker: str, confirmed: list[int]) -> Ready:
        """The verdicts that are ready, again until they are confirmed; waits for some."""
        box = self._boxes.get(worker)
        if box is None:  # a worker of an earlier life, which will say hello
            return self._life, []
        for number in confirmed:
            box.ready.pop(number, None)
            box.taken.discard(number)
        if not box.ready:
            box.some.clear()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(box.some.wait(), _WAIT_S)
        return self._life, list(box.ready.items())

    async def _score(self, box: _Box, handed: Handed) -> None:
        """Always puts a verdict into the box: somebody waits for it."""
        verdict, rollout = failed("error"), handed.rollout
        try:
            if handed.again and not rollout.has_uid:
                verdict = LOST  # a prompt's later groups have the same key
            else:
                verdict = await self._owner.score(rollout)
        except Exception:
            log.exception("rankbuffer: scoring a rollout of uid %s failed", rollout.uid)
        finally:
            box.ready[handed.number] = verdict
            box.some.set()
