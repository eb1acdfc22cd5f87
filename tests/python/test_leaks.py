"""Nothing is left behind: handles, descriptors, threads, memory."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from known_world import MIXED, World, until

import rankbuffer as rb
from rankbuffer import _ffi

Build = Callable[..., rb.Scorer]


def _fds() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 (iterdir opens one more while it counts)


def _rss_kb() -> int:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


def test_a_thousand_groups_leave_nothing(world: World) -> None:
    texts = world.group("q", *MIXED)
    judge = world.judge()
    with rb.Scorer(judge=judge) as warm:  # Go's own descriptors open once
        warm.score_group("q", texts, query="?")
    gc.collect()
    fds, handles, threads = _fds(), _ffi.library().handles_open(), threading.active_count()

    async def groups(scorer: rb.Scorer, first: int) -> None:
        for start in range(first, first + 250, 50):
            await asyncio.gather(
                *(
                    scorer.score_group_async(f"q{i}", texts, query="?")
                    for i in range(start, start + 50)
                )
            )

    with rb.Scorer(judge=judge) as scorer:
        for i in range(500):
            scorer.score_group(f"q{i}", texts, query="?")
        asyncio.run(groups(scorer, 500))
        asyncio.run(groups(scorer, 750))
        assert scorer.stats()["groups"] == {"ok": 1000}
        assert scorer._pump._waiting == {}
    assert _fds() == fds
    assert _ffi.library().handles_open() == handles
    until(lambda: threading.active_count() == threads)


def test_a_hundred_scorers_leave_nothing(world: World) -> None:
    texts = world.group("q", 1, 2)
    rb.Scorer(judge=world.judge()).close()
    fds, handles = _fds(), _ffi.library().handles_open()
    for _ in range(100):
        with rb.Scorer(judge=world.judge()) as scorer:
            scorer.score_group("q", texts, query="?")
    assert _fds() == fds
    assert _ffi.library().handles_open() == handles


def test_http_connections_are_closed(world: World) -> None:
    texts = world.group("q", *MIXED)
    rb.JudgeServer(world.judge()).close()
    fds = _fds()
    for _ in range(3):
        with rb.JudgeServer(world.judge()) as server:
            judge = rb.Judge(base_url=server.url, model="sim")
            with rb.Scorer(judge=judge, method=rb.Pointwise()) as scorer:
                scorer.score_group("q", texts, query="?")
    until(lambda: _fds() == fds)


def test_outputs_and_errors_are_freed(build: Build) -> None:
    scorer = build()
    scorer.create_buffer("q", query="x" * 50_000)

    def churn(count: int) -> None:
        for _ in range(count):
            scorer.buffer("q")
            with suppress(rb.InputError):
                scorer.score_group("q", [], query="y")

    churn(200)
    before = _rss_kb()
    churn(2_000)  # 100 MB of buffers
    assert _rss_kb() - before < 50_000
