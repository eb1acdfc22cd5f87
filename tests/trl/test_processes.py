"""Two processes that exchange rows and rewards: what fails in one fails in both."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from known_world import NUMBERED_RANKED, numbered_scorer

import rankbuffer as rb
from rankbuffer.trl import AsyncRewardFunction, RewardFunction

pytest.importorskip("torch")


class Awkward(Exception):
    """Cannot be unpickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def told(what: Any) -> str:
    try:
        return json.dumps(what())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def process(rank: int, out: Path) -> None:
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{out}/meet", rank=rank, world_size=2)
    scorer = numbered_scorer()
    sync = RewardFunction(scorer, group_size=4)
    coroutine = AsyncRewardFunction(scorer, group_size=4)
    texts = [["t90", "t50"], ["t30", "t10"]][rank]
    columns: dict[str, Any] = {"query_id": ["a"] * 2, "ranked": [NUMBERED_RANKED] * 2}

    def scored(**more: Any) -> list[float]:
        return sync(prompts=["A"] * 2, completions=texts, **columns, **more)

    async def twice() -> list[list[float]]:
        calls = (coroutine(prompts=["A"] * 2, completions=texts, **columns) for _ in range(2))
        return await asyncio.gather(*calls)

    found = [told(scored), told(lambda: asyncio.run(twice()))]
    found.append(told(lambda: scored(eligible=[True, "no"] if rank == 1 else [True, True])))

    def fails(*args: Any) -> None:
        raise Awkward(1, 2)

    found.append(told(lambda: scored(log_metric=fails)))
    (out / "checkpoint-3").mkdir(exist_ok=True)
    (out / "checkpoint-3" / "rankbuffer.zst").write_bytes(b"damaged")
    state = SimpleNamespace(global_step=3, is_world_process_zero=rank == 0, log_history=[])
    (out / "checkpoint-3" / "trainer_state.json").write_text('{"global_step": 3}')
    if rank == 0:
        sync.restore = fails  # type: ignore[method-assign]
    args = SimpleNamespace(output_dir=str(out))
    callbacks = pytest.importorskip("rankbuffer.trl.checkpoint_callback")
    found.append(told(lambda: callbacks.CheckpointCallback(sync).on_train_begin(args, state, None)))
    (out / f"found-{rank}").write_text(json.dumps(found))
    dist.destroy_process_group()


def test_errors_are_raised_in_every_process(tmp_path: Path) -> None:
    import torch.multiprocessing as mp

    mp.spawn(process, (tmp_path,), nprocs=2)
    a, b = (json.loads((tmp_path / f"found-{rank}").read_text()) for rank in range(2))
    assert json.loads(a[0]) + json.loads(b[0]) == pytest.approx([1, 1 / 3, -1 / 3, -1])
    both = [x + y for x, y in zip(json.loads(a[1]), json.loads(b[1]), strict=True)]
    assert both == [pytest.approx([1, 1 / 3, -1 / 3, -1])] * 2
    assert a[2] == b[2]
    assert a[2].startswith("InputError: rows[1].eligible")
    awkward = f"{rb.RankBufferError.__name__}: Awkward: 1 and 2"
    assert [a[3:], b[3:]] == [[awkward] * 2] * 2
