"""The buffers beside the checkpoints of a transformers trainer."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from ..errors import RankBufferError

log = logging.getLogger(__name__)

NAME = "rankbuffer.zst"


class Checkpoints(TrainerCallback):  # type: ignore[misc]
    """Saves with the model and restores when a run is resumed. Saving never stops training."""

    def __init__(self, reward: Any) -> None:
        self._reward = reward

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not state.is_world_process_zero:
            return
        path = _path(args, state)
        try:
            self._reward.save(path)
        except (RankBufferError, OSError) as error:
            log.error("rankbuffer: %s: %s", path, error)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == 0:
            return
        failure: Exception | None = None
        if state.is_world_process_zero:
            try:
                self._restore(_path(args, state))
            except Exception as error:
                failure = error
        self._reward.ranks.agree(failure)  # the other processes would wait for this one

    def _restore(self, path: Path) -> None:
        if path.exists():
            self._reward.restore(path)
        else:
            log.warning("rankbuffer: %s is missing: the buffers start afresh", path)


def _path(args: Any, state: Any) -> Path:
    return Path(args.output_dir) / f"checkpoint-{state.global_step}" / NAME
