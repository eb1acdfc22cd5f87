"""A reward worker's connection to one owner, which may die and come back."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..groups.lost import Lost
from ..rollouts.rows import Rollout
from ..verdict import LOST, Verdict, failed
from .desk import Handed

log = logging.getLogger(__name__)

_BATCH = 256
_PAUSE_S = 0.5
_TRIES = 20
"""How often a rollout is handed over: one whose every try breaks the connection must end."""


@dataclass
class _Waiting:
    rollout: Rollout
    verdict: asyncio.Future[Verdict]
    tries: int = 0
    again: bool = False  # an earlier life of the owner may have had it


class Link:
    """Hands rollouts over and hands verdicts back. Lives on one event loop.

    Of what an owner held when it died, its next life knows the groups that it
    had scored; the others end with the status ``lost``. What had not been sent
    waits for that next life, ``patience`` seconds at most.
    """

    def __init__(self, find: Callable[[], Any], patience: float) -> None:
        """``find`` gives the actor's handle, of a new one if need be."""
        self._find = find
        self.owner = find()
        self._patience = patience
        self._me = uuid.uuid4().hex
        self._life: str | None = None
        self._numbers = 0
        self._waiting: dict[int, _Waiting] = {}
        self._unsent: list[int] = []
        self._lost = Lost()  # with an owner
        self._untold = False  # the owner does not know of all these
        self._more = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def score(self, rollout: Rollout) -> Verdict:
        if rollout.key in self._lost:
            return LOST
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
        """One connection after the other. However this ends, nobody is left waiting."""
        try:
            while True:
                life = await self._connect()
                if life is None:
                    self._untold = self._untold or bool(self._waiting)
                    self._end_all(LOST)
                    if not self._untold:  # otherwise its next life must hear of them
                        await self._until_more()
                    continue
                self._go_on(life)
                await self._exchange(life)
                await asyncio.sleep(_PAUSE_S)
        except Exception:
            log.exception("rankbuffer: the connection to an owner of buffers failed")
        finally:
            self._end_all(failed("error"))

    async def _connect(self) -> str | None:
        """Which life of the owner answers; None if none does for ``patience`` seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._patience
        while True:
            try:
                return await asyncio.wait_for(self._hello(), end - loop.time())
            except Exception as error:
                if loop.time() >= end:
                    log.error("rankbuffer: an owner of buffers did not come back: %.300r", error)
                    return None
            await asyncio.sleep(_PAUSE_S)
            # Ray restarts an actor that died, but not one that has ended.
            with suppress(Exception):  # it may go while it is looked for
                find = asyncio.to_thread(self._find)
                self.owner = await asyncio.wait_for(find, max(end - loop.time(), _PAUSE_S))

    async def _hello(self) -> str:
        life: str = await self.owner.hello.remote(self._me, list(self._lost))
        return life

    def _go_on(self, life: str) -> None:
        """Everything that has no verdict is sent again: the owner takes no rollout twice."""
        for number, waiting in self._waiting.items():
            if waiting.tries and life != self._life and not waiting.rollout.validate:
                waiting.again = True
            if waiting.tries >= _TRIES:
                self._settle(number, failed("error"))
        self._life = life
        self._untold = False
        self._unsent = [n for n, w in self._waiting.items() if not w.verdict.done()]

    async def _exchange(self, life: str) -> None:
        """Until the connection breaks."""
        tasks = [asyncio.create_task(self._send()), asyncio.create_task(self._take(life))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        problem = next((r for r in results if isinstance(r, Exception)), "another life answers")
        log.error("rankbuffer: the connection to an owner of buffers broke: %.300r", problem)

    async def _send(self) -> None:
        while True:
            await self._until_more()
            numbers, self._unsent = self._unsent[:_BATCH], self._unsent[_BATCH:]
            handed = []
            for number in numbers:
                waiting = self._waiting.get(number)
                if waiting is not None:  # nor cancelled
                    waiting.tries += 1
                    handed.append(Handed(number, waiting.rollout, waiting.again))
            await self.owner.submit.remote(self._me, handed)

    async def _until_more(self) -> None:
        while not self._unsent:
            self._more.clear()
            await self._more.wait()

    async def _take(self, life: str) -> None:
        """Until the owner answers from another life."""
        confirmed: list[int] = []
        while True:
            now, ready = await self.owner.collect.remote(self._me, confirmed)
            if now != life:
                return
            for number, verdict in ready:
                self._settle(number, verdict)
            confirmed = [number for number, _ in ready]

    def _end_all(self, verdict: Verdict) -> None:
        self._unsent.clear()
        for number in list(self._waiting):
            self._settle(number, verdict)

    def _settle(self, number: int, verdict: Verdict) -> None:
        waiting = self._waiting.get(number)
        if waiting is None:  # cancelled meanwhile
            return
        rollout = waiting.rollout
        if verdict == LOST and rollout.has_uid and not rollout.validate:
            self._lost.add([rollout.key])
        with suppress(asyncio.InvalidStateError):
            waiting.verdict.set_result(verdict)
