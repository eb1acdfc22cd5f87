"""``rankbuffer score --retry-failed``: scores the failed groups of a finished run again."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from .._whole import sync_directory, write_whole
from ..jsonl import read_jsonl
from ..types import GroupResult
from .failures import Streak
from .groups import arguments
from .journal import Journal
from .progress import Progress
from .scoring import Batch, result_line

_ROWS, _BUFFERS = "rows.jsonl", "buffers.zst"


def finish(journal: Journal, state: Path) -> None:
    """Puts in place what an earlier run had ready when it was killed."""
    ready = state / "retried"
    if not ready.exists():
        return
    newest = journal.newest()
    if newest is None:  # the output was taken away since
        shutil.rmtree(ready)
        return
    if (buffers := ready / _BUFFERS).exists():
        os.replace(buffers, newest[2])
    if (rows := ready / _ROWS).exists():
        os.replace(rows, journal.rows)
    sync_directory(state)
    sync_directory(journal.rows.parent)
    ready.rmdir()


async def retry_failed(batch: Batch, state: Path) -> None:
    """Scores the groups whose rows are ``failed`` again, in their order.

    They take effect after all others, on the buffers as these left them. Rows and
    buffers change together, at the end: a run that is killed before changes nothing.
    """
    with batch.journal.rows.open(encoding="utf-8") as file:
        failed = [json.loads(line)["group_status"] == "failed" for line in file]
    if not any(failed):
        return
    better = {
        number: result_line(result)
        for number, result in await _score(batch, failed)
        if result.group_status != "failed"
    }
    if not better:
        return
    ready, building = state / "retried", state / "retrying"
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir()
    with batch.journal.rows.open(encoding="utf-8") as file, write_whole(building / _ROWS) as write:
        for number, line in enumerate(file):
            write(better.get(number, line))
    batch.scorer.snapshot(building / _BUFFERS)
    os.replace(building, ready)
    finish(batch.journal, state)


async def _score(batch: Batch, failed: list[bool]) -> list[tuple[int, GroupResult]]:
    """The results by number of the row; ends early when the judge is gone."""
    streak: Streak[None] = Streak(batch.max_failures)
    flying: deque[tuple[int, asyncio.Task[GroupResult]]] = deque()
    found: list[tuple[int, GroupResult]] = []

    def groups() -> Iterator[tuple[int, dict[str, object]]]:
        for number, (_, _, row) in enumerate(read_jsonl(batch.groups)):
            if failed[number]:
                yield number, row

    async def land() -> None:
        number, task = flying.popleft()
        result = await task
        progress.advance(sum(result.calls.values()))
        streak.take(result.raw, None)
        found.append((number, result))

    with Progress("retry", sum(failed)) as progress:
        try:
            for number, row in groups():
                given = arguments(row)
                flying.append(
                    (number, asyncio.ensure_future(batch.scorer.score_group_async(**given)))
                )
                await asyncio.sleep(0)  # lets it take its place among the groups of its query
                while flying and (len(flying) >= batch.window or flying[0][1].done()):
                    await land()
                if streak.over:
                    break
            while flying:
                await land()
        finally:
            for _, task in flying:
                task.cancel()
            await asyncio.gather(*(task for _, task in flying), return_exceptions=True)
    return found
