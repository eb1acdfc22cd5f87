"""Saves the buffers with the checkpoints of a transformers trainer."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any, Literal

from transformers import TrainerCallback
from transformers.trainer_callback import TrainerState

from ..errors import CheckpointError, ConfigError, RankBufferError

log = logging.getLogger(__name__)

NAME = "rankbuffer.zst"
_STATE = "trainer_state.json"


class CheckpointCallback(TrainerCallback):  # type: ignore[misc]
    """Saves the buffers with the model and restores them when a run is resumed.

    If the buffers cannot be saved, the error is logged and training goes on.
    """

    def __init__(
        self,
        reward: Any,
        *,
        resume_from: str | Path | None = None,
        on_missing: Literal["fail", "fresh"] = "fail",
    ) -> None:
        if on_missing not in ("fail", "fresh"):
            raise ConfigError(f"{on_missing!r} is not one of fail, fresh", "on_missing")
        self._reward = reward
        self._resume_from = resume_from
        self._on_missing = on_missing

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not state.is_world_process_zero:
            return
        path = _directory(args, state) / NAME
        try:
            self._reward.save(path)
        except (RankBufferError, OSError) as error:
            log.error("rankbuffer: the buffers were not saved: %s: %s", path, error)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._reward.check_group_size(getattr(args, "num_generations", None))
        if state.global_step == 0:
            return
        failure: Exception | None = None
        if state.is_world_process_zero:
            try:
                self._restore(args, state)
            except Exception as error:
                failure = error
        self._reward.processes.agree(failure)  # the other processes would wait for this one

    def _restore(self, args: Any, state: Any) -> None:
        # The trainer does not say which directory it resumes, only the state it read there.
        directory = Path(self._resume_from) if self._resume_from else _directory(args, state)
        if not _is_of(directory, state):
            raise ConfigError(
                f"{directory} is not the checkpoint that the trainer resumes: "
                "name it, checkpoints(resume_from=DIRECTORY)"
            )
        path = directory / NAME
        if path.exists():
            self._reward.restore(path)
        elif self._on_missing == "fail":
            raise CheckpointError(
                f"{path} is missing: resume another checkpoint, or start with empty buffers, "
                'checkpoints(on_missing="fresh")'
            )
        else:
            log.warning("rankbuffer: %s is missing: the run starts with empty buffers", path)


def _directory(args: Any, state: Any) -> Path:
    return Path(args.output_dir) / f"checkpoint-{state.global_step}"


def _is_of(directory: Path, state: Any) -> bool:
    """Whether the trainer's state is the one in this directory."""
    try:
        there = TrainerState.load_from_json(str(directory / _STATE))
    except (OSError, ValueError, TypeError):
        return False
    saved, now = ((s.global_step, s.log_history) for s in (there, state))
    return json.dumps(saved) == json.dumps(now)
