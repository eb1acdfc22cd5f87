"""Scores a file of groups, many at once, with results in order."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ...rows import GroupRow, read_groups
from ...scorer import Scorer
from ..common.failures import Streak
from ..common.progress import Progress
from ..common.recorder import Recorder
from ..common.row_log import RowLog
from .groups import Digest
from .in_flight import InFlight

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
    log: RowLog
    window: int
    """Groups in flight, at most."""
    max_failures: int
    """Groups that may fail in a row, see ``Streak``."""


class Interrupted(Exception):
    """Ctrl-C ended the run; says how to go on."""


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


async def score_failed_again(batch: Batch) -> None:
    """Scores the groups again whose rows are ``failed``, after all others and in their order.

    Their rows and the buffers are replaced together at the end, so a run that is
    killed earlier changes nothing.
    """
    with batch.log.rows.open(encoding="utf-8") as file:
        failed = [json.loads(line)["group_status"] == "failed" for line in file]
    better: dict[int, str] = {}
    streak: Streak[None] = Streak(batch.max_failures)
    with Progress("retry", sum(failed)) as progress:
        async with InFlight[int](batch.groups, batch.scorer, batch.window) as flight:

            async def land(*, all: bool = False) -> None:
                async for number, result in flight.results(all=all):
                    progress.advance(sum(result.calls.values()))
                    streak.take(result.raw, None)
                    if result.group_status != "failed":
                        better[number] = json.dumps(result.raw, ensure_ascii=False) + "\n"

            for number, (line, _, row) in enumerate(read_groups(batch.groups)):
                if streak.over:
                    break
                if failed[number]:
                    await flight.begin(line, number, row)
                    await land()
            await land(all=True)
    if better:
        batch.log.replace(better, batch.scorer)


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


class _Scoring:
    def __init__(self, batch: Batch, done: int, progress: Progress, stop: asyncio.Event) -> None:
        self._batch, self._done, self._progress, self._stop = batch, done, progress, stop
        self._recorder = Recorder(batch.log, done, batch.max_failures)
        self._digest = Digest()
        self._pause = _Pause()

    async def run(self) -> None:
        batch, recorder = self._batch, self._recorder
        async with InFlight[bytes](batch.groups, batch.scorer, batch.window) as flight:
            for line, body, row in self._rows():
                if self._stop.is_set():
                    break
                await flight.begin(line, body, row)
                await self._land(flight)
                if recorder.over or self._pause.due():
                    await self._checkpoint(flight)  # one in flight may show that the judge is there
                if recorder.over:
                    break
            await self._checkpoint(flight)
        so_far = f"after {recorder.written:,} of {batch.total:,} groups"
        if self._stop.is_set() and recorder.written < batch.total:
            raise Interrupted(f"stopped {so_far}; the same command goes on there")
        await recorder.finish(batch.scorer, so_far)

    def _rows(self) -> Iterator[tuple[int, bytes, GroupRow]]:
        """The rows still to be scored."""
        rows = read_groups(self._batch.groups)
        for _, body, _ in islice(rows, self._done):
            self._digest.add(body)
        yield from rows

    async def _land(self, flight: InFlight[bytes], *, all: bool = False) -> None:
        async for body, result in flight.results(all=all):
            self._progress.advance(sum(result.calls.values()))
            self._digest.add(body)
            self._recorder.take(result.raw, self._digest.text())

    async def _checkpoint(self, flight: InFlight[bytes]) -> None:
        began = time.monotonic()
        await self._land(flight, all=True)
        self._recorder.checkpoint(self._batch.scorer)
        self._pause.taken(began)


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
