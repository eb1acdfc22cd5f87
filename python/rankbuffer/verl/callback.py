"""What verl's trainer calls when it has saved a checkpoint."""

from __future__ import annotations

import logging
from typing import Any

import ray
from verl.trainer.ppo.checkpoint_callback import CheckpointCallback as _Base

from .manager import read_config

log = logging.getLogger(__name__)

_WAIT_S = 600.0


class CheckpointCallback(_Base):  # type: ignore[misc]
    """Puts the buffers beside the model's checkpoint. ``trainer.checkpoint_callback_class``.

    Built by the trainer before anything else, so that a configuration that cannot
    work stops it there, with the override to write. Saving never stops training:
    the journal has everything, and what went wrong is logged.
    """

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self._plan, self._root, _ = read_config(config)

    def on_save(
        self,
        trainer: Any,
        global_step: int,
        checkpoint_dir: str,
        async_save: bool = False,
        **kwargs: Any,
    ) -> None:
        try:
            calls = self._calls(trainer, global_step)
            for problem in ray.get(calls, timeout=_WAIT_S):
                if problem is not None:
                    log.error("rankbuffer: buffers of step %d: %s", global_step, problem)
        except Exception as error:
            log.exception("rankbuffer: buffers of step %d were not saved: %s", global_step, error)

    def _calls(self, trainer: Any, step: int) -> list[Any]:
        if self._plan.workers == 1:
            return [_worker(trainer).__ray_call__.remote(_checkpoint, step)]
        from .actors import find_owners

        return [owner.checkpoint.remote(step) for owner in find_owners(self._plan, self._root)]


def _worker(trainer: Any) -> Any:
    manager = getattr(trainer, "reward_loop_manager", None)
    if manager is not None:
        return manager.reward_loop_workers[0]
    return ray.get_actor("reward_loop_worker_0")


def _checkpoint(worker: Any, step: int) -> str | None:
    """Runs in the reward worker."""
    problem: str | None = worker.reward_manager.owner.checkpoint(step)
    return problem
