"""An owner by itself: side files, and what it tells."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import world

from rankbuffer.errors import InputError
from rankbuffer.rows import QueryRow
from rankbuffer.verl.files.layout import list_bases
from rankbuffer.verl.files.trainer_checkpoints import Resume
from rankbuffer.verl.owner import Owner


def owner(tmp_path: Path, side: str | None = None) -> Owner:
    plan = world.run_config()
    settings = dataclasses.replace(plan.settings, side_file=side)
    return Owner(dataclasses.replace(plan, settings=settings), tmp_path, Resume(), "run")


def bare(text: str, slot: str) -> Any:
    """A rollout whose row has no ranked responses."""
    query = QueryRow(query_id="q", query="about q")
    return dataclasses.replace(world.rollout(text, slot=slot), query=query)


def test_ranked_responses_come_from_the_side_file(tmp_path: Path) -> None:
    side = tmp_path / "side.jsonl"
    side.write_text(json.dumps({"query_id": "q", "ranked": world.RANKED}) + "\n")

    async def go() -> tuple[Any, Any]:
        made = owner(tmp_path, str(side))
        texts = ["t90", "t50", "t30", "t10"]
        await asyncio.gather(*(made.score(bare(t, f"s{i}")) for i, t in enumerate(texts)))
        found = made.buffer("q"), made.stats()
        await made.close()
        return found

    buffer, stats = asyncio.run(go())
    assert {a["text"] for a in buffer["anchors"] if a["source"] == "ranked"} == set(world.RANKED)
    assert stats["journal"]["entries"] == 1
    assert (stats["groups_open"], stats["newest_checkpoint"]) == (0, 0)


def test_a_side_file_that_is_none(tmp_path: Path) -> None:
    side = tmp_path / "side.jsonl"
    side.write_text("{}\n")
    with pytest.raises(InputError, match=r"side\.jsonl:1: query_id"):
        owner(tmp_path, str(side))


def test_an_unknown_query_has_no_buffer(tmp_path: Path) -> None:
    async def go() -> Any:
        made = owner(tmp_path)
        found = made.buffer("unknown")
        await made.close()
        return found

    assert asyncio.run(go()) is None


# The file with the step of the newest checkpoint.


def saved(tmp_path: Path) -> list[int]:
    """The steps of this owner's bases."""
    return [b.step for b in list_bases(next(tmp_path.glob("rankbuffer/run-*/shard-0-of-1")))]


def mark(made: Owner) -> int:
    """What a group that opens now is marked with."""
    found: int = made._group_fields(world.rollout("t1"))["after_checkpoint"]
    return found


def test_a_group_that_opens_while_a_step_is_saved_is_not_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = owner(tmp_path)
    world.save_model(tmp_path, 2)
    journal = made._scorer.journal
    saving, go_on = threading.Event(), threading.Event()
    order: list[Any] = []

    def slow(*args: Any, **kwargs: Any) -> None:
        saving.set()
        go_on.wait(30)
        journal(*args, **kwargs)
        order.append("saved")

    monkeypatch.setattr(made._scorer, "journal", slow)
    tick = threading.Thread(target=made._checkpoints.look)
    group = threading.Thread(
        target=lambda: order.append(made._group_fields(world.rollout("t1"))["after_checkpoint"])
    )
    tick.start()
    assert saving.wait(30)
    group.start()
    group.join(0.2)  # time to get ahead, if it could
    go_on.set()
    tick.join(30)
    group.join(30)
    assert order == ["saved", 2]
    asyncio.run(made.close())


def test_a_step_file_that_falls_behind_is_no_new_step(tmp_path: Path) -> None:
    """Asynchronous saving writes it long after the callback, perhaps of a later step."""
    made = owner(tmp_path)
    for step in (2, 4):
        world.save_model(tmp_path, step, step_file=False)
        assert made.checkpoint(step) is None
    before = saved(tmp_path)
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("2")
    made._checkpoints.look()
    assert made._group_fields(world.rollout("t1"))["after_checkpoint"] == 4
    assert saved(tmp_path) == before
    world.save_model(tmp_path, 6)
    assert made._group_fields(world.rollout("t1"))["after_checkpoint"] == 6
    assert saved(tmp_path)[-1] == 6
    asyncio.run(made.close())


# The journal.


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file of this process grows beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_journal_that_cannot_be_written_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def told() -> list[str]:
        return [r.getMessage() for r in caplog.records if "the journal lacks" in r.getMessage()]

    async def go() -> None:
        made = owner(tmp_path)

        async def group(uid: str) -> None:
            rollouts = (world.rollout(f"t{i}", uid=uid, slot=f"s{i}") for i in (90, 50, 30, 10))
            await asyncio.gather(*(made.score(r) for r in rollouts))

        await group("written")
        made._checkpoints.look()
        assert told() == []
        segment = next(tmp_path.glob("rankbuffer/run-*/shard-*/segment-*"))
        with full_disk(segment.stat().st_size + 10):
            for uid in ("lost", "lost too"):
                await group(uid)
                made._checkpoints.look()
        assert made.stats()["journal"]["errors"] == 2
        assert len(told()) == 1
        world.save_model(tmp_path, 2)
        assert made.checkpoint(2) is None  # has everything
        await group("written again")
        made._checkpoints.look()
        assert len(told()) == 1
        segment = sorted(tmp_path.glob("rankbuffer/run-*/shard-*/segment-*"))[-1]
        with full_disk(segment.stat().st_size + 10):
            await group("and lost again")
        world.save_model(tmp_path, 4)
        assert made.checkpoint(4) is None  # nobody looked before
        assert len(told()) == 2
        await made.close()

    caplog.set_level(logging.ERROR)
    asyncio.run(go())
