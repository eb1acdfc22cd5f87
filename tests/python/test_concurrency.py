"""Many groups at once: tasks, threads, event loops, and the order within a query."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from known_world import MIXED, MIXED_RANKS, NEVER_MS, World, in_flight, until

import rankbuffer as rb

Build = Callable[..., rb.Scorer]


def _queries(world: World, count: int) -> dict[str, list[str]]:
    return {f"q{i}": world.group(f"q{i}", *MIXED) for i in range(count)}


def test_many_tasks(world: World, build: Build) -> None:
    groups = _queries(world, 200)
    scorer = build()

    async def main() -> list[rb.GroupResult]:
        return await asyncio.gather(
            *(scorer.score_group_async(q, texts, query=q) for q, texts in groups.items())
        )

    results = asyncio.run(main())
    assert [r.query_id for r in results] == list(groups)
    assert all(r.ranks == MIXED_RANKS for r in results)


def test_many_threads(world: World, build: Build) -> None:
    groups = _queries(world, 200)
    scorer = build()
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda q: scorer.score_group(q, groups[q], query=q), groups))
    assert [r.query_id for r in results] == list(groups)
    assert all(r.ranks == MIXED_RANKS for r in results)


def test_several_event_loops_and_plain_threads(world: World, build: Build) -> None:
    groups = _queries(world, 120)
    scorer = build()
    names = list(groups)
    results: dict[str, rb.GroupResult] = {}

    async def many(part: list[str]) -> None:
        async def one(q: str) -> None:
            results[q] = await scorer.score_group_async(q, groups[q], query=q)

        await asyncio.gather(*map(one, part))

    def plain(part: list[str]) -> None:
        for q in part:
            results[q] = scorer.score_group(q, groups[q], query=q)

    threads = [
        threading.Thread(target=lambda p=part: asyncio.run(many(p)))
        for part in (names[:40], names[40:80])
    ] + [threading.Thread(target=plain, args=(names[80:],))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {q: r.ranks for q, r in results.items()} == dict.fromkeys(groups, MIXED_RANKS)


def test_a_stuck_event_loop_holds_up_nobody_else(world: World, build: Build) -> None:
    """A loop that waits for a group and then blocks in the user's code."""
    groups = _queries(world, 2)
    scorer = build(latency_ms=1)
    stuck, release = threading.Event(), threading.Event()

    async def main() -> None:
        task = asyncio.create_task(scorer.score_group_async("q0", groups["q0"], query="q"))
        await asyncio.sleep(0)
        stuck.set()
        release.wait()
        assert (await task).ranks == MIXED_RANKS

    loop = threading.Thread(target=lambda: asyncio.run(main()))
    loop.start()
    stuck.wait()
    assert scorer.score_group("q1", groups["q1"], query="q").ranks == MIXED_RANKS
    release.set()
    loop.join()


def test_groups_of_a_query_take_effect_in_order(world: World, query: Build) -> None:
    rounds = [world.group("q", *(q + 0.01 * i for q in MIXED)) for i in range(12)]
    one_by_one = query()
    expected = [one_by_one.score_group("q", texts).raw for texts in rounds]

    at_once = query()

    async def main() -> list[rb.GroupResult]:
        return await asyncio.gather(*(at_once.score_group_async("q", t) for t in rounds))

    got = [r.raw for r in asyncio.run(main())]
    for result in (*expected, *got):
        del result["latency_ms"]
    assert got == expected
    assert at_once.buffer("q") == one_by_one.buffer("q")


def test_cancelled_task_cancels_its_group_only(world: World, query: Build) -> None:
    world.group("p", *MIXED)
    scorer = query(latency_ms=NEVER_MS)
    before = scorer.buffer("q")

    async def main() -> None:
        mine = asyncio.create_task(scorer.score_group_async("q", world.group("q", *MIXED)))
        other = asyncio.create_task(
            scorer.score_group_async("p", world.group("p", *MIXED), query="?", deadline=1.0)
        )
        await asyncio.sleep(0)
        assert in_flight(scorer) == 2
        mine.cancel()
        with pytest.raises(asyncio.CancelledError):
            await mine
        assert (await other).status == ["timeout"] * 8

    asyncio.run(main())
    until(lambda: in_flight(scorer) == 0)
    assert scorer.buffer("q") == before


def test_timeout_of_asyncio_cancels(world: World, query: Build) -> None:
    scorer = query(latency_ms=NEVER_MS)

    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(scorer.score_group_async("q", world.group("q", *MIXED)), 0.02)

    asyncio.run(main())
    until(lambda: in_flight(scorer) == 0)


def test_loop_closed_with_groups_in_flight(world: World, query: Build) -> None:
    """What a closed loop left behind must not break the next one."""
    scorer = query(latency_ms=20)
    texts = world.group("q", *MIXED)
    loop = asyncio.new_event_loop()
    left = loop.create_task(scorer.score_group_async("q", texts))
    loop.run_until_complete(asyncio.sleep(0))
    left.cancel()
    loop.run_until_complete(asyncio.wait([left]))
    loop.close()
    assert asyncio.run(scorer.score_group_async("q", texts)).ranks == MIXED_RANKS


def test_too_many_groups_is_busy(world: World, build: Build) -> None:
    groups = _queries(world, 3)
    scorer = build(latency_ms=NEVER_MS, max_groups=2)

    async def main() -> None:
        tasks = [
            asyncio.create_task(scorer.score_group_async(q, groups[q], query="?"))
            for q in ("q0", "q1")
        ]
        await asyncio.sleep(0)
        with pytest.raises(rb.BusyError, match="max_groups"):
            await scorer.score_group_async("q2", groups["q2"], query="?")
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    asyncio.run(main())


def test_abandoned_scorer_is_closed(world: World) -> None:
    from rankbuffer import _ffi

    texts = world.group("q", *MIXED)
    before = _ffi.library().handles_open()
    scorer = rb.Scorer(judge=world.judge())
    scorer.score_group("q", texts, query="?")
    assert _ffi.library().handles_open() == before + 1
    gone = weakref.ref(scorer)
    del scorer
    gc.collect()
    assert gone() is None
    assert _ffi.library().handles_open() == before
    until(lambda: "rankbuffer-completions" not in {t.name for t in threading.enumerate()})
