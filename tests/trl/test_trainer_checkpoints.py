"""The buffers beside the checkpoints of a transformers trainer."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from known_world import NUMBERED_RANKED, numbered_config

import rankbuffer as rb
from rankbuffer.trl import RewardFunction

pytest.importorskip("transformers")
from transformers.trainer_callback import TrainerState


def checkpoint(directory: Path, state: Any) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    state.save_to_json(str(directory / "trainer_state.json"))
    return directory


def state(loss: float) -> Any:
    return TrainerState(global_step=3, log_history=[{"loss": loss, "step": 3}])


def trained() -> RewardFunction:
    reward = RewardFunction(numbered_config(), group_size=4)
    texts = [f"t{q}" for q in (90, 50, 30, 10)]
    columns = {"query_id": ["a"] * 4, "ranked": [NUMBERED_RANKED] * 4}
    assert reward(["A"] * 4, texts, **columns) == pytest.approx([1, 1 / 3, -1 / 3, -1])
    return reward


def test_a_run_that_goes_on_elsewhere(tmp_path: Path) -> None:
    first = trained()
    old = checkpoint(tmp_path / "old" / "checkpoint-3", state(0.5))
    first.checkpoints().on_save(SimpleNamespace(output_dir=str(tmp_path / "old")), state(0.5), None)
    args = SimpleNamespace(output_dir=str(tmp_path / "new"))
    second = RewardFunction(numbered_config(), group_size=4)
    second.checkpoints(resume_from=old).on_train_begin(args, state(0.5), None)
    assert second.scorer.buffer("a") == first.scorer.buffer("a")


def test_the_checkpoint_of_another_run_is_not_taken(tmp_path: Path) -> None:
    first = trained()
    args = SimpleNamespace(output_dir=str(tmp_path))
    checkpoint(tmp_path / "checkpoint-3", state(0.5))
    first.checkpoints().on_save(args, state(0.5), None)
    with pytest.raises(rb.ConfigError, match=r"checkpoints\(resume_from=DIRECTORY\)"):
        trained().checkpoints().on_train_begin(args, state(0.7), None)


def test_a_checkpoint_without_buffers(tmp_path: Path) -> None:
    args = SimpleNamespace(output_dir=str(tmp_path))
    checkpoint(tmp_path / "checkpoint-3", state(0.5))
    reward = trained()
    with pytest.raises(rb.CheckpointError, match=r'on_missing="fresh"'):
        reward.checkpoints().on_train_begin(args, state(0.5), None)
    reward.checkpoints(on_missing="fresh").on_train_begin(args, state(0.5), None)


def test_a_word_that_is_none() -> None:
    with pytest.raises(rb.ConfigError, match="on_missing: 'ignore'"):
        trained().checkpoints(on_missing="ignore")  # type: ignore[arg-type]
