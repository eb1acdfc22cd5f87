"""What the trainer's callback tells when its nodes do not see the same files. Without Ray."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rankbuffer.verl import checkpoint_callback
from rankbuffer.verl.files import trainer_checkpoints
from rankbuffer.verl.owner import Owner


class Worker:
    """A reward worker: a call runs at once."""

    def __init__(self, owner: Owner) -> None:
        self.reward_manager = SimpleNamespace(owner=owner)
        self.__ray_call__ = SimpleNamespace(remote=self._run)

    def _run(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(self, *args)


def trainer_of(owner: Owner) -> Any:
    """As much of verl's trainer as the callback asks."""
    return SimpleNamespace(reward_loop_manager=SimpleNamespace(reward_loop_workers=[Worker(owner)]))


def save_model(root: Path, step: int) -> None:
    (root / f"global_step_{step}" / "actor").mkdir(parents=True)
    (root / trainer_checkpoints.LATEST_STEP).write_text(str(step))


@pytest.mark.parametrize("shared", [True, False])
def test_storage_that_the_nodes_do_not_share_is_told(
    shared: bool,
    judge_url: str,
    tokenizer_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    from stack import config, judge

    monkeypatch.setattr(checkpoint_callback.ray, "get", lambda calls, timeout: calls)
    caplog.set_level(logging.ERROR)
    root, elsewhere = tmp_path / "trainer", tmp_path / "worker"
    elsewhere.mkdir()
    save_model(root, 4)
    # The model of step 4 was trained without buffers.
    options = [*judge(judge_url), "+reward.rankbuffer.checkpoint.on_missing=fresh"]
    on_driver = checkpoint_callback.CheckpointCallback(config(tokenizer_dir, root, options))
    seen = root if shared else elsewhere
    at = trainer_checkpoints.resumed_step({}, seen)
    owner = Owner(on_driver._run, seen, at, "run")
    trainer = trainer_of(owner)
    for step in (6, 8):
        save_model(root, step)
        on_driver.on_save(trainer, step, str(root / f"global_step_{step}"))
    told = [record.getMessage() for record in caplog.records]
    if shared:
        assert told == []
        assert (root / "global_step_8" / "rankbuffer" / "MANIFEST.json").exists()
    else:
        assert ["step 6 were saved" in told[0], "resumed step 4" in told[1]] == [True, True]
        assert "step 8 were saved" in told[2]
        assert all("trainer.default_local_dir must be" in message for message in told)
        assert len(told) == 3
    asyncio.run(owner.close())


def test_a_save_that_failed_is_told_and_stops_nothing(
    judge_url: str,
    tokenizer_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    from stack import config, judge

    monkeypatch.setattr(checkpoint_callback.ray, "get", lambda calls, timeout: calls)
    monkeypatch.delattr(checkpoint_callback.ray, "get_actor")
    caplog.set_level(logging.ERROR, logger="rankbuffer.verl.checkpoint_callback")
    on_driver = checkpoint_callback.CheckpointCallback(
        config(tokenizer_dir, tmp_path, judge(judge_url))
    )
    owner = Owner(on_driver._run, tmp_path, trainer_checkpoints.Resume(), "run")
    trainer = trainer_of(owner)
    shard = next(tmp_path.glob("rankbuffer/run-*/shard-*"))
    shard.rename(shard.with_name("gone"))
    save_model(tmp_path, 2)
    owner._checkpoints.look()  # finds the step file first, and fails
    on_driver.on_save(trainer, 2, str(tmp_path / "global_step_2"))
    told = [
        r.getMessage() for r in caplog.records if r.name == "rankbuffer.verl.checkpoint_callback"
    ]
    assert len(told) == 1
    assert "buffers of step 2" in told[0]
    assert "shard-0-of-1" in told[0]
    on_driver.on_save(SimpleNamespace(reward_loop_manager=None), 4, "")  # nobody to ask
    assert "buffers of step 4 were not saved" in caplog.records[-1].getMessage()
    asyncio.run(owner.close())
