"""Groups that are fed response by response."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from known_world import MIXED, MIXED_RANKS, NEVER_MS, World, in_flight, linear, until

import rankbuffer as rb

Build = Callable[..., rb.Scorer]


def test_each_add_gets_its_reward(world: World, query: Build) -> None:
    async def main() -> tuple[list[float], rb.GroupResult]:
        async with query().open_group("q", expected=8) as group:
            tasks = [asyncio.create_task(group.add(t)) for t in world.group("q", *MIXED)]
            rewards = await asyncio.gather(*tasks)
        return rewards, group.result

    rewards, result = asyncio.run(main())
    assert rewards == result.rewards == pytest.approx(linear(MIXED_RANKS))


def test_block_may_end_before_its_tasks_run(world: World, query: Build) -> None:
    async def main() -> tuple[list[float], rb.GroupResult]:
        async with query().open_group("q", expected=8) as group:
            tasks = [asyncio.create_task(group.add(t)) for t in world.group("q", *MIXED)]
        return await asyncio.gather(*tasks), group.result

    rewards, result = asyncio.run(main())
    assert rewards == result.rewards == pytest.approx(linear(MIXED_RANKS))


def test_cancelled_by_hand(world: World, query: Build) -> None:
    scorer = query(latency_ms=NEVER_MS)
    before = scorer.buffer("q")
    opening = scorer.open_group("q", expected=2)
    group = opening.__enter__()
    group.add(world.group("q", 1.5)[0])
    group.cancel()
    with pytest.raises(rb.CancelledError):
        opening.__exit__(None, None, None)
    until(lambda: in_flight(scorer) == 0)
    assert scorer.buffer("q") == before


def test_stopped_in_time_or_too_late(world: World, query: Build) -> None:
    """It ends at once without a change, or with the result that it has."""
    scorer = query(latency_ms=NEVER_MS)
    before = scorer.buffer("q")
    with scorer.open_group("q", expected=2) as group:
        group.add(world.group("q", 1.5)[0])
        group.stop()
    assert (group.result.status, group.result.applied) == (["cancelled"] * 2, False)
    assert scorer.buffer("q") == before

    with query().open_group("q", expected=8) as late:
        for text in world.group("q", *MIXED):
            late.add(text)
        until(lambda: late._pending.done)
        late.stop()
    assert late.result.status == ["ok"] * 8
    assert late.result.applied


def test_any_order_of_arrival_equals_the_whole_group(world: World, query: Build) -> None:
    texts = world.group("q", *MIXED)
    whole = query()
    expected = _timeless(whole.score_group("q", texts, step=5))

    async def fed(order: list[int]) -> rb.Scorer:
        scorer = query()
        async with scorer.open_group("q", expected=8, step=5) as group:
            for i in order:
                group.add_nowait(texts[i], index=i)
                await asyncio.sleep(0)
        assert _timeless(group.result) == expected
        return scorer

    seed = random.randrange(2**32)
    print("seed", seed)
    order = list(range(8))
    for _ in range(20):
        random.Random(seed).shuffle(order)
        scorer = asyncio.run(fed(order))
        assert scorer.buffer("q") == whole.buffer("q"), order
        scorer.close()


def test_plain_with(world: World, query: Build) -> None:
    texts = world.group("q", *MIXED)
    with query().open_group("q", expected=8) as group:
        places = [group.add(t) for t in texts]
        with pytest.raises(rb.RankBufferError, match="no result yet"):
            _ = group.result
    assert places == list(range(8))
    assert group.result.ranks == MIXED_RANKS


def test_fed_from_threads(world: World, query: Build) -> None:
    texts = world.group("q", *MIXED)
    places: dict[str, int] = {}
    with query().open_group("q", expected=8) as group:
        threads = [
            threading.Thread(target=lambda t=t: places.update({t: group.add(t)})) for t in texts
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(places.values()) == list(range(8))
    assert [group.result.ranks[places[t]] for t in texts] == MIXED_RANKS


def test_free_places_are_filled_in_turn(world: World, query: Build) -> None:
    texts = world.group("q", 1.5, 2.5, 3.5, 4.5)
    with query().open_group("q", expected=4) as group:
        assert group.add(texts[1], index=1) == 1
        assert [group.add(texts[i]) for i in (0, 2, 3)] == [0, 2, 3]
    assert group.result.ranks == [0, 1, 2, 3]


def test_missing_sibling_makes_the_group_partial(world: World, query: Build) -> None:
    scorer = query()
    before = scorer.buffer("q")
    with scorer.open_group("q", expected=4) as group:
        for text in world.group("q", 1.5, 3.5, 7):
            group.add(text)
    result = group.result
    assert len(result.rewards) == 4
    assert result.group_status == "partial"
    assert result.status[:3] == ["ok", "ok", "ok"]
    assert result.ranks[0] < result.ranks[1] < result.ranks[2]
    assert scorer.buffer("q") == before


def test_what_is_known_of_a_response_comes_with_it(world: World, query: Build) -> None:
    texts = world.group("q", 1.5, 5.5, 3.5)
    given = query(rb.RankBuffer(format_weight=0.5)).score_group(
        "q", texts, eligible=[True, False, True], format_scores=[0, 1, 1]
    )
    with query(rb.RankBuffer(format_weight=0.5)).open_group("q", expected=3) as group:
        group.add(texts[2], 2, format_score=1)
        group.add(texts[1], 1, format_score=1, eligible=False)
        group.add(texts[0], 0)
    assert group.result.rewards == given.rewards
    assert group.result.status == given.status


def test_deadline_frees_the_query(world: World, query: Build) -> None:
    scorer = query()
    texts = world.group("q", 1.5, 3.5)

    async def main() -> rb.GroupResult:
        async with scorer.open_group("q", expected=3, deadline=0.1) as group:
            group.add_nowait(texts[0])
            group.add_nowait(texts[1])
            # The next group of the query can only run once this one is over.
            after = await scorer.score_group_async("q", texts)
            assert after.group_status == "ok"
        return group.result

    result = asyncio.run(main())
    assert result.status == ["ok", "ok", "timeout"]
    assert result.group_status == "partial"


def test_late_response_is_left_out(world: World, query: Build) -> None:
    scorer = query()
    texts = world.group("q", 1.5, 3.5, 7)
    before = scorer.buffer("q")
    with scorer.open_group("q", expected=3, deadline=0.5) as group:
        assert [group.add(t) for t in texts[:2]] == [0, 1]
        until(lambda: in_flight(scorer) == 0)
        assert group.add(texts[2]) == 2
    assert group.result.status == ["ok", "ok", "timeout"]
    assert group.result.ranks[0] < group.result.ranks[1]
    assert scorer.buffer("q") == before
    with pytest.raises(rb.InputError, match="all the 3 responses"):
        group.add(texts[2])


def test_late_response_gets_the_mean(world: World, query: Build) -> None:
    scorer = query()
    texts = world.group("q", 1.5, 3.5, 7)

    async def main() -> tuple[list[float], rb.GroupResult]:
        async with scorer.open_group("q", expected=3, deadline=0.5) as group:
            tasks = [asyncio.create_task(group.add(t)) for t in texts[:2]]
            await group.wait()
            tasks.append(asyncio.create_task(group.add(texts[2])))
        return await asyncio.gather(*tasks), group.result

    rewards, result = asyncio.run(main())
    assert result.status == ["ok", "ok", "timeout"]
    assert rewards == result.rewards
    assert rewards[2] == pytest.approx((rewards[0] + rewards[1]) / 2)


def test_response_after_the_block_or_a_cancel(world: World, query: Build) -> None:
    scorer = query()
    texts = world.group("q", 1.5, 3.5)
    with scorer.open_group("q", expected=2) as ended:
        ended.add(texts[0])
    assert ended.add(texts[1]) == 1
    assert ended.result.status == ["ok", "cancelled"]

    async def main() -> None:
        async with scorer.open_group("q", expected=2) as group:
            group.cancel()
            until(lambda: in_flight(scorer) == 0)
            with pytest.raises(rb.CancelledError):
                await group.add(texts[0])

    with pytest.raises(rb.CancelledError):
        asyncio.run(main())


def test_response_after_the_scorer_was_closed(world: World, query: Build) -> None:
    scorer = query()
    text = world.group("q", 1.5)[0]
    opening = scorer.open_group("q", expected=1)
    group = opening.__enter__()
    scorer.close()
    with pytest.raises(rb.ClosedError, match="the scorer is closed"):
        group.add(text)
    with pytest.raises(rb.ClosedError):
        opening.__exit__(None, None, None)


def test_awaiting_one_by_one_is_warned_of(world: World, query: Build) -> None:
    scorer = query()
    texts = world.group("q", 1.5, 3.5)

    async def main() -> list[float]:
        async with scorer.open_group("q", expected=2, deadline=0.5) as group:
            with pytest.warns(rb.RankBufferWarning, match="no other task is left to add") as warned:
                first = await group.add(texts[0])
            assert [w.filename for w in warned] == [__file__]
            rewards = [first, await group.add(texts[1])]
        assert group.result.status == ["ok", "timeout"]
        return rewards

    assert asyncio.run(main()) == [0, 0]

    async def last() -> float:
        async with scorer.open_group("q", expected=2) as group:
            group.add_nowait(texts[0])
            return await group.add(texts[1])  # the group is complete: no warning

    assert asyncio.run(last()) == 1


def test_rewards_nobody_awaits_are_no_mistake(world: World, query: Build) -> None:
    scorer = query()
    texts = world.group("q", 1.5, 3.5, 7)

    async def too_many() -> None:
        async with scorer.open_group("q", expected=2) as group:
            await asyncio.gather(*(group.add(t) for t in texts))

    async def given_up() -> list[float]:
        async with scorer.open_group("q", expected=3) as group:
            group.add(texts[0])
            group.add(texts[1]).close()
            return [await asyncio.wait_for(group.add(texts[2]), 60)]

    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        with pytest.raises(rb.InputError, match="all the 2 responses"):
            asyncio.run(too_many(), debug=True)
        assert asyncio.run(given_up(), debug=True) == [1]
        gc.collect()
    assert [str(c.message) for c in complaints] == []


def test_unusable_response_leaves_the_group(world: World, query: Build) -> None:
    scorer = query()
    texts = world.group("q", 1.5, 3.5)

    async def main() -> list[float]:
        async with scorer.open_group("q", expected=2) as group:
            first = asyncio.create_task(group.add(texts[0]))
            with pytest.raises(rb.InputError, match=r"responses\[1\]\.text: lone surrogate"):
                group.add("x\ud800")
            return [await group.add(texts[1]), await first]

    assert asyncio.run(main()) == [1, -1]


def test_group_is_fed_inside_its_block(query: Build) -> None:
    opening = query().open_group("q", expected=2)
    for name in ("add", "add_nowait", "wait", "result", "cancel", "stop"):
        with pytest.raises(rb.RankBufferError, match=f"has no {name} before it is entered"):
            getattr(opening, name)
    assert not hasattr(opening, "ad")


def test_result_outlives_an_error_in_the_block(world: World, query: Build) -> None:
    opened = query().open_group("q", expected=1)
    with suppress(KeyError), opened as group:
        group.add(world.group("q", 1.5)[0])
        until(lambda: group._pending.done)
        raise KeyError
    assert group.result.status == ["ok"]


def test_error_in_the_block_cancels_the_group(world: World, query: Build) -> None:
    scorer = query(latency_ms=NEVER_MS)
    before = scorer.buffer("q")
    opened = scorer.open_group("q", expected=2)
    with suppress(KeyError), opened as group:
        group.add(world.group("q", 1.5)[0])
        raise KeyError
    until(lambda: in_flight(scorer) == 0)
    assert scorer.buffer("q") == before
    with pytest.raises(rb.RankBufferError, match="no result yet"):
        _ = group.result


def test_cancelled_block_ends_those_who_wait(world: World, query: Build) -> None:
    scorer = query(latency_ms=NEVER_MS)
    texts = world.group("q", 1.5, 2.5)

    async def main() -> None:
        inside = asyncio.Event()
        waiters: list[asyncio.Task[float]] = []

        async def block() -> None:
            async with scorer.open_group("q", expected=3) as group:
                waiters.extend(asyncio.create_task(group.add(t)) for t in texts)
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(block())
        await inside.wait()
        await asyncio.sleep(0)
        task.cancel()
        for outcome in await asyncio.gather(task, *waiters, return_exceptions=True):
            assert isinstance(outcome, (asyncio.CancelledError, rb.CancelledError)), outcome
        assert not any(w.cancelled() for w in waiters)

    asyncio.run(main())
    until(lambda: in_flight(scorer) == 0)


def test_one_cancelled_add_leaves_the_others(world: World, query: Build) -> None:
    scorer = query(latency_ms=20)
    texts = world.group("q", 1.5, 5.5, 3.5)

    async def main() -> None:
        async with scorer.open_group("q", expected=3) as group:
            tasks = [asyncio.create_task(group.add(t)) for t in texts]
            await asyncio.sleep(0)
            tasks[0].cancel()
            assert await tasks[1] == 1
            assert await tasks[2] == 0
        assert tasks[0].cancelled()
        assert group.result.ranks == [0, 2, 1]

    asyncio.run(main())


def test_bad_feeding(world: World, query: Build) -> None:
    texts = world.group("q", 1.5, 5.5)
    scorer = query(max_response_bytes=1000)
    with scorer.open_group("q", expected=2) as group:
        bad: list[tuple[tuple[Any, ...], str]] = [
            ((b"bytes",), r"responses\[0\]: must be a string, got bytes; decode it first"),
            ((texts[0], 2), r"index: 2 is outside 0\.\.1"),
            ((texts[0], -1), r"index: -1 is outside"),
            ((texts[0], 2**40), r"index: 1099511627776 is outside"),
            ((texts[0], "0"), "index: must be an integer, got str"),
            (("x\ud800",), r"responses\[0\]\.text: lone surrogate U\+D800 at character 1"),
            (("x\ud800", 1), r"responses\[1\]\.text: lone surrogate"),
            (("x" * 1001, 1), r"responses\[1\]: 1001 bytes are more than max_response_bytes"),
        ]
        for args, complaint in bad:
            with pytest.raises(rb.InputError, match=complaint):
                group.add(*args)
        with pytest.raises(rb.InputError, match=r"responses\[0\]\.format_score: nan"):
            group.add(texts[0], format_score=float("nan"))
        with pytest.raises(rb.InputError, match=r"responses\[0\]\.format_score: 1\.5"):
            group.add(texts[0], format_score=1.5)
        assert group.add(texts[0]) == 0  # nothing refused took the place
        with pytest.raises(rb.InputError, match="index: 0 was added before"):
            group.add(texts[1], 0)
        group.add(texts[1])
        with pytest.raises(rb.InputError, match="all the 2 responses"):
            group.add(texts[1])
    assert group.result.ranks == [0, 1]
    with pytest.raises(rb.InputError, match="all the 2 responses"):
        group.add(texts[1])


@pytest.mark.parametrize("expected", [0, -1, 2**31, 2**40])
def test_expected_out_of_range(query: Build, expected: int) -> None:
    scorer = query()
    with pytest.raises(rb.InputError, match="expected"), scorer.open_group("q", expected=expected):
        pass
    assert in_flight(scorer) == 0


def test_a_group_opens_once(world: World, query: Build) -> None:
    opening = query().open_group("q", expected=1)
    with opening as group:
        group.add(world.group("q", 1.5)[0])
    with pytest.raises(rb.RankBufferError, match="opens once"), opening:
        pass


def _timeless(result: rb.GroupResult) -> dict[str, object]:
    return {k: v for k, v in result.raw.items() if k != "latency_ms"}
