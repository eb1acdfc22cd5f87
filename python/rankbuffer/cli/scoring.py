"""Scores a file of groups, many at once, with results in order."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import ConflictError, InputError
from ..jsonl import read_jsonl
from ..scorer import Scorer
from ..types import GroupResult
from .failures import Streak
from .groups import Digest, arguments
from .journal import Journal
from .progress import Progress

# A checkpoint waits for all groups in flight. It is taken when that pause would
# cost less than a twentieth of the time since the last one, but not more often
# than twice a second.
_SHARE = 20
_LEAST_S = 0.5


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A file of groups, what scores them, and where results go."""

    groups: Path
    total: int
    scorer: Scorer
    journal: Journal
    window: int
    """Groups in flight, which bounds the memory."""
    max_failures: int
    """Groups that may fail in a row, see ``Streak``."""


class _Pause:
    """When the next checkpoint is due."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._cost = 0.0

    def due(self) -> bool:
        return time.monotonic() - self._last >= max(_LEAST_S, _SHARE * self._cost)

    def taken(self, began: float) -> None:
        self._last = time.monotonic()
        self._cost = self._last - began


async def score_all(batch: Batch, done: int) -> None:
    """Scores the groups after the first ``done``.

    A first Ctrl-C lets the groups in flight finish, a second one ends at once;
    both raise Interrupted.
    """
    with Progress("score", batch.total) as progress, _interruption() as stop:
        progress.begin(done)
        try:
            await _Scoring(batch, done, progress, stop).run()
        except asyncio.CancelledError:
            if stop.is_set():
                raise Interrupted(
                    "stopped at once; the same command goes on from the last checkpoint"
                ) from None
            raise


class Interrupted(Exception):
    """Ctrl-C ended the run; says how to go on."""


class _Scoring:
    def __init__(self, batch: Batch, done: int, progress: Progress, stop: asyncio.Event) -> None:
        self._batch, self._progress, self._stop = batch, progress, stop
        self._written = self._saved = done
        self._digest = Digest()
        self._flying: deque[tuple[int, bytes, asyncio.Task[GroupResult]]] = deque()
        self._pause = _Pause()
        self._streak: Streak[tuple[bytes, GroupResult]] = Streak(batch.max_failures)

    async def run(self) -> None:
        try:
            for line, body, row in self._rows():
                if self._stop.is_set():
                    break
                self._flying.append((line, body, asyncio.ensure_future(self._score(row))))
                # Lets the group take its place among those of its query, and finished ones be seen.
                await asyncio.sleep(0)
                while self._flying and (self._full() or self._flying[0][2].done()):
                    await self._land()
                if self._streak.over or self._pause.due():
                    await self._checkpoint()  # those in flight may tell that the judge is there
                if self._streak.over:
                    break
            await self._checkpoint()
        finally:
            for _, _, task in self._flying:
                task.cancel()
            await asyncio.gather(*(task for _, _, task in self._flying), return_exceptions=True)
        if self._stop.is_set() and self._written < self._batch.total:
            raise Interrupted(
                f"stopped after {self._written:,} of {self._batch.total:,} groups; "
                "the same command goes on there"
            )
        await self._streak.judge(
            self._batch.scorer, f"after {self._written:,} of {self._batch.total:,} groups"
        )
        self._write(self._streak.release())
        await self._checkpoint()

    def _rows(self) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
        """The rows still to be scored."""
        rows = read_jsonl(self._batch.groups)
        for _, body, _ in islice(rows, self._written):
            self._digest.add(body)
        yield from rows

    async def _score(self, row: dict[str, Any]) -> GroupResult:
        return await self._batch.scorer.score_group_async(**arguments(row))

    def _full(self) -> bool:
        return len(self._flying) >= self._batch.window

    async def _land(self) -> None:
        """Writes the result of the oldest group in flight, but for a failed one at the end."""
        line, body, task = self._flying[0]
        try:
            result = await task
        except (InputError, ConflictError) as error:
            raise InputError(f"{self._batch.groups}:{line}: {error}") from None
        self._flying.popleft()
        self._progress.advance(sum(result.calls.values()))
        self._write(self._streak.take(result.raw, (body, result)))

    def _write(self, results: Iterable[tuple[bytes, GroupResult]]) -> None:
        for body, result in results:
            self._digest.add(body)
            self._batch.journal.append([result_line(result)])
            self._written += 1

    async def _checkpoint(self) -> None:
        began = time.monotonic()
        while self._flying:
            await self._land()
        if self._written > self._saved:
            self._batch.journal.checkpoint(self._batch.scorer, self._written, self._digest.text())
            self._saved = self._written
        self._pause.taken(began)


def result_line(result: GroupResult) -> str:
    """A row of the output."""
    return json.dumps(result.raw, ensure_ascii=False) + "\n"


@contextlib.contextmanager
def _interruption() -> Iterator[asyncio.Event]:
    """An event that the first Ctrl-C sets; the second one cancels the task."""
    stop = asyncio.Event()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def interrupt() -> None:
        if stop.is_set():
            task.cancel()
            return
        stop.set()
        if sys.stderr.isatty():  # leaves the line of progress, and the ^C on it
            print(file=sys.stderr)
        print("finishing the groups in flight; Ctrl-C again stops at once", file=sys.stderr)
        sys.stderr.flush()

    try:
        loop.add_signal_handler(signal.SIGINT, interrupt)
    except (ValueError, RuntimeError):  # not the main thread: Ctrl-C is somebody else's
        yield stop
        return
    try:
        yield stop
    finally:
        loop.remove_signal_handler(signal.SIGINT)
