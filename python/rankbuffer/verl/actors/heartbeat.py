"""How an owner actor notices that its reward workers are gone."""

from __future__ import annotations

import asyncio

BEAT_S = 5.0
"""How often each reward worker sends a heartbeat."""


class HeartbeatMonitor:
    """Waits until no heartbeat came for ``limit`` seconds in which the event loop ran.

    It counts ticks instead of reading the clock: while a save blocks the event loop,
    no heartbeat can be received.
    """

    def __init__(self, limit: float) -> None:
        self._limit = max(limit, 2 * BEAT_S)
        self._seconds = 0.0

    def beat(self) -> None:
        self._seconds = 0.0

    async def until_stopped(self) -> None:
        while self._seconds < self._limit:
            await asyncio.sleep(BEAT_S)
            self._seconds += BEAT_S
