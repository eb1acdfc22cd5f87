"""What verl's trainer calls when it has saved a checkpoint."""

from __future__ import annotations

import logging
from typing import Any

import ray
from verl.trainer.ppo.checkpoint_callback import CheckpointCallback as _Base

from .files.layout import HOME
from .files.published import published_by
from .files.tracker import step_directory
from .manager import read_config

log = logging.getLogger(__name__)

_WAIT_S = 600.0
_SHARED = "trainer.default_local_dir must be a directory that all nodes share"


class CheckpointCallback(_Base):  # type: ignore[misc]
    """Puts the buffers beside the model's checkpoint. ``trainer.checkpoint_callback_class``.

    Built by the trainer before anything else, so that a configuration that cannot
    work stops it there, with the override to write. Saving never stops training:
    the journal has everything, and what went wrong is logged.
    """

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self._plan, self._root, self._at = read_config(config, whole=True)
        self._compared = False

    def on_save(
        self,
        trainer: Any,
        global_step: int,
        checkpoint_dir: str,
        async_save: bool = False,
        **kwargs: Any,
    ) -> None:
        try:
            self._save(trainer, global_step)
            if not self._compared:
                self._compared = True
                self._compare(trainer)
        except Exception as error:
            log.exception("rankbuffer: buffers of step %d were not saved: %s", global_step, error)

    def _save(self, trainer: Any, step: int) -> None:
        problems = [p for p in self._ask(trainer, "checkpoint", step) if p is not None]
        for problem in problems:
            log.error("rankbuffer: buffers of step %d: %s", step, problem)
        directory = step_directory(self._root, step) / HOME
        if not problems and published_by(directory) is None:
            log.error(
                "rankbuffer: buffers of step %d were saved, but the trainer does not see %s: %s",
                step, directory, _SHARED,
            )  # fmt: skip

    def _compare(self, trainer: Any) -> None:
        """Whoever holds the buffers looked by itself for the step to resume."""
        for stats in self._ask(trainer, "stats"):
            if stats["resumed"] != self._at.step:
                log.error(
                    "rankbuffer: the trainer resumed step %d, the buffers are those of step %d: %s",
                    self._at.step, stats["resumed"], _SHARED,
                )  # fmt: skip

    def _ask(self, trainer: Any, method: str, *args: Any) -> list[Any]:
        """Calls a method of every owner."""
        if self._plan.workers == 1:
            calls = [_worker(trainer).__ray_call__.remote(_call, method, *args)]
        else:
            from .actors.owners import find_owners

            owners = find_owners(self._plan, self._root)
            calls = [getattr(owner, method).remote(*args) for owner in owners]
        answers: list[Any] = ray.get(calls, timeout=_WAIT_S)
        return answers


def _worker(trainer: Any) -> Any:
    manager = getattr(trainer, "reward_loop_manager", None)
    if manager is not None:
        return manager.reward_loop_workers[0]
    return ray.get_actor("reward_loop_worker_0")


def _call(worker: Any, method: str, *args: Any) -> Any:
    """Runs in the reward worker."""
    return getattr(worker.reward_manager.owner, method)(*args)
