"""Closing: bounded, idempotent, and clear to whoever is still there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from fresh_process import run
from known_world import MIXED, NEVER_MS, World, in_flight, until

import rankbuffer as rb

Build = Callable[..., rb.Scorer]


def test_close_twice_and_by_several_threads(query: Build) -> None:
    scorer = query()
    threads = [threading.Thread(target=scorer.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    scorer.close()
    assert scorer.closed
    assert repr(scorer) == "<Scorer rankbuffer closed>"


def test_with_block_closes(query: Build) -> None:
    with query() as scorer:
        assert not scorer.closed
    assert scorer.closed


def test_every_use_after_close_is_refused(world: World, query: Build, tmp_path: Path) -> None:
    scorer = query()
    texts = world.group("q", *MIXED)
    opened = scorer.open_group("q", expected=2)
    scorer.close()

    async def opened_async() -> None:
        async with opened:
            pass

    uses: list[Callable[[], object]] = [
        lambda: scorer.score_group("q", texts),
        lambda: asyncio.run(scorer.score_group_async("q", texts)),
        lambda: scorer.open_group("q", expected=2),
        lambda: opened.__enter__(),
        lambda: scorer.__enter__(),
        lambda: asyncio.run(opened_async()),
        lambda: scorer.create_buffer("p", query="?"),
        lambda: scorer.buffer("q"),
        lambda: scorer.update("q/0/0"),
        lambda: scorer.snapshot(tmp_path / "s"),
        lambda: scorer.restore(tmp_path / "s"),
        lambda: scorer.stats(),
        lambda: scorer.check(),
        lambda: scorer.journal(tmp_path / "j"),
        lambda: scorer.restore_from(),
    ]
    for use in uses:
        with pytest.raises(rb.ClosedError, match="closed"):
            use()


def test_close_ends_a_plain_wait(world: World, query: Build) -> None:
    scorer = query(latency_ms=NEVER_MS)
    raised: list[BaseException] = []

    def wait() -> None:
        try:
            scorer.score_group("q", world.group("q", *MIXED))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    until(lambda: in_flight(scorer) == 1)
    scorer.close()
    thread.join()
    assert [type(e) for e in raised] == [rb.ClosedError]
    assert "in flight" in str(raised[0])


def test_close_ends_tasks_and_open_groups(world: World, query: Build) -> None:
    scorer = query(latency_ms=NEVER_MS)
    texts = world.group("q", *MIXED)

    async def feed() -> None:
        async with scorer.open_group("q", expected=2) as group:
            await group.add(texts[0])

    async def main() -> list[object]:
        tasks = [asyncio.create_task(feed())]
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(scorer.score_group_async("q", texts)))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        assert in_flight(scorer) == 2
        scorer.close()
        return list(await asyncio.gather(*tasks, return_exceptions=True))

    outcomes = asyncio.run(main())
    assert [type(o) for o in outcomes] == [rb.ClosedError, rb.ClosedError]


def test_open_group_outlives_its_scorer(world: World, query: Build) -> None:
    scorer = query()
    text = world.group("q", 1.5)[0]
    opening = scorer.open_group("q", expected=2)
    group = opening.__enter__()
    scorer.close()
    group.cancel()  # harmless
    with pytest.raises(rb.ClosedError, match="closed"):
        group.add(text)
    with pytest.raises(rb.ClosedError, match="in flight"):
        opening.__exit__(None, None, None)


@pytest.mark.parametrize("deadline", [-1, float("nan"), float("inf"), "soon"])
def test_bad_deadline(query: Build, deadline: float) -> None:
    scorer = query()
    with pytest.raises(rb.InputError, match="deadline"):
        scorer.close(deadline=deadline)
    assert not scorer.closed


def test_exit_without_close() -> None:
    """A process that forgets to close ends, with groups in flight and a thread waiting."""
    out = run(
        """
        s = scorer(latency_ms=600_000)
        threading.Thread(target=lambda: score(s), daemon=True).start()
        waiting(s)
        print("end")
        """
    )
    assert out == "end\n"


def test_exit_within_the_block() -> None:
    out = run(
        """
        async def main():
            with scorer(latency_ms=600_000) as s:
                task = asyncio.create_task(s.score_group_async("q", texts, query="?"))
                await asyncio.sleep(0.01)
            try:
                await task
            except rb.ClosedError:
                print("closed")
        asyncio.run(main())
        """
    )
    assert out == "closed\n"
