"""Scores groups at the same time and hands out their results in the order they were begun."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Generic, TypeVar

from ...rows import GroupRow, located
from ...scorer import Scorer
from ...types import GroupResult

T = TypeVar("T")


class InFlight(Generic[T]):
    """Groups of a file that are being scored, ``window`` at most, which bounds the memory.

    Use it with ``async with``: leaving the block cancels the groups that are not done.
    """

    def __init__(self, groups: Path, scorer: Scorer, window: int) -> None:
        self._groups, self._scorer, self._window = groups, scorer, window
        self._flying: deque[tuple[int, T, asyncio.Task[GroupResult]]] = deque()

    async def begin(self, line: int, item: T, row: GroupRow) -> None:
        """Begins to score the row of a line; ``item`` comes back with its result."""
        score = self._scorer.score_group_async(**row.arguments())
        task = asyncio.ensure_future(score)
        self._flying.append((line, item, task))
        # Lets the group queue behind those of its query, and finished ones be seen.
        await asyncio.sleep(0)

    async def results(self, *, all: bool = False) -> AsyncIterator[tuple[T, GroupResult]]:
        """Those that are done; waits if the window is full, or for every group if ``all``."""
        while self._flying and (
            all or len(self._flying) >= self._window or self._flying[0][2].done()
        ):
            line, item, task = self._flying[0]
            with located(self._groups, line):
                result = await task
            self._flying.popleft()
            yield item, result

    async def __aenter__(self) -> InFlight[T]:
        return self

    async def __aexit__(self, *exc: object) -> None:
        for _, _, task in self._flying:
            task.cancel()
        await asyncio.gather(*(task for _, _, task in self._flying), return_exceptions=True)
