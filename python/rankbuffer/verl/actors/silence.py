"""Noticing that nobody is there any more."""

from __future__ import annotations

import asyncio


class Silence:
    """Ends when nothing was heard for ``limit`` seconds in which the event loop ran.

    Counted in ticks and not by the clock: while a save blocks the loop, nothing
    can be heard.
    """

    def __init__(self, limit: float, tick: float) -> None:
        self._limit = limit
        self._tick = min(tick, limit / 4)
        self._silent = 0.0

    def heard(self) -> None:
        self._silent = 0.0

    async def wait(self) -> None:
        while self._silent < self._limit:
            await asyncio.sleep(self._tick)
            self._silent += self._tick
