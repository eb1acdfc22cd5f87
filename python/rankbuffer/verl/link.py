"""A reward worker's connection to one owner, which may die and come back."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ray.exceptions import RayActorError

from .extra import Verdict, failed
from .lost import Lost
from .rows import Rollout

log = logging.getLogger(__name__)

Handed = tuple[int, Rollout]
"""A rollout under the number that its verdict comes back with."""

Ready = tuple[str, list[tuple[int, Verdict]]]
"""Which life of the owner answers, and its verdicts by number."""

_BATCH = 256
_PAUSE_S = 0.5


@dataclass
class _Waiting:
    rollout: Rollout
    verdict: asyncio.Future[Verdict]
    sent: bool = False


class _Gone(Exception):
    """The owner answers from another life than the one that was asked."""


class Link:
    """Hands rollouts over and hands verdicts back. Lives on one event loop.

    What an owner held when it died ends with the status ``lost``; what had not
    been sent yet waits for its next life, ``patience`` seconds at most.
    """

    def __init__(self, find: Callable[[], Any], patience: float) -> None:
        """``find`` gives the actor's handle, of a new one if need be."""
        self._find = find
        self._owner = find()
        self._patience = patience
        self._me = uuid.uuid4().hex
        self._numbers = 0
        self._waiting: dict[int, _Waiting] = {}
        self._unsent: list[int] = []
        self._lost = Lost()  # with an owner
        self._more = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def score(self, rollout: Rollout) -> Verdict:
        if rollout.key in self._lost:
            return failed("lost", "lost")
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())
        self._numbers += 1
        number = self._numbers
        future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._waiting[number] = _Waiting(rollout, future)
        self._unsent.append(number)
        self._more.set()
        try:
            return await future
        finally:
            self._waiting.pop(number, None)

    async def _run(self) -> None:
        """One life of the owner after the other."""
        while True:
            life = await self._connect()
            if life is None:
                self._unsent.clear()
                self._end(list(self._waiting))
                await self._until_more()
                continue
            tasks = [asyncio.create_task(self._send()), asyncio.create_task(self._take(life))]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                results = await asyncio.gather(*tasks, return_exceptions=True)
            problem = next((r for r in results if isinstance(r, (RayActorError, _Gone))), results)
            log.error("rankbuffer: an owner of buffers died: %s", problem)
            self._end([n for n, w in self._waiting.items() if w.sent])

    async def _connect(self) -> str | None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._patience
        while True:
            try:
                life: str = await self._owner.hello.remote(self._me, list(self._lost))
                return life
            except RayActorError as error:
                if loop.time() > end:
                    log.error("rankbuffer: an owner of buffers did not come back: %s", error)
                    return None
                await asyncio.sleep(_PAUSE_S)
                # Ray restarts an actor that died, but not one that has ended.
                self._owner = await asyncio.to_thread(self._find)

    async def _send(self) -> None:
        while True:
            await self._until_more()
            numbers, self._unsent = self._unsent[:_BATCH], self._unsent[_BATCH:]
            there = [n for n in numbers if n in self._waiting]
            for number in there:
                self._waiting[number].sent = True
            handed: list[Handed] = [(n, self._waiting[n].rollout) for n in there]
            await self._owner.submit.remote(self._me, handed)

    async def _until_more(self) -> None:
        while not self._unsent:
            self._more.clear()
            await self._more.wait()

    async def _take(self, life: str) -> None:
        confirmed: list[int] = []
        while True:
            now, ready = await self._owner.collect.remote(self._me, confirmed)
            if now != life:
                raise _Gone
            for number, verdict in ready:
                self._settle(number, verdict)
            confirmed = [number for number, _ in ready]

    def _end(self, numbers: list[int]) -> None:
        """These rollouts went with the owner. Validation can be asked for again."""
        for number in numbers:
            waiting = self._waiting[number]
            if waiting.rollout.validate and waiting.sent:
                waiting.sent = False
                self._unsent.append(number)
                continue
            if not waiting.rollout.validate:
                self._lost.add([waiting.rollout.key])
            self._settle(number, failed("lost", "lost"))

    def _settle(self, number: int, verdict: Verdict) -> None:
        waiting = self._waiting.get(number)
        if waiting is not None:
            with suppress(asyncio.InvalidStateError):  # cancelled meanwhile
                waiting.verdict.set_result(verdict)
