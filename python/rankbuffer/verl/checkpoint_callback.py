"""The callback that verl's trainer calls when it has saved a checkpoint."""

from __future__ import annotations

import logging
from typing import Any

import ray
from verl.trainer.ppo.checkpoint_callback import CheckpointCallback as _Base

from .files.beside_model import saved_by
from .files.layout import HOME
from .files.trainer_checkpoints import step_directory
from .manager import read_config

log = logging.getLogger(__name__)

_WAIT_S = 600.0
_SHARED = "trainer.default_local_dir must be a directory that all nodes share"


class CheckpointCallback(_Base):  # type: ignore[misc]
    """Saves the buffers beside the model's checkpoint. For ``trainer.checkpoint_callback_class``.

    The trainer creates it before anything else, so a configuration that cannot work stops
    the run here, with the override to write. A failed save is logged and never stops
    training, since the journal has every change.
    """

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self._run, self._root, self._resume = read_config(config, whole=True)
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
        problems = [p for p in self._call_owners(trainer, "checkpoint", step) if p is not None]
        for problem in problems:
            log.error("rankbuffer: buffers of step %d: %s", step, problem)
        directory = step_directory(self._root, step) / HOME
        if not problems and saved_by(directory) is None:
            log.error(
                "rankbuffer: buffers of step %d were saved, but the trainer does not see %s: %s",
                step, directory, _SHARED,
            )  # fmt: skip

    def _compare(self, trainer: Any) -> None:
        """Compares the resumed step with that of the owners, which looked for it themselves."""
        for stats in self._call_owners(trainer, "stats"):
            if stats["resumed"] != self._resume.step:
                log.error(
                    "rankbuffer: the trainer resumed step %d, the buffers are those of step %d: %s",
                    self._resume.step, stats["resumed"], _SHARED,
                )  # fmt: skip

    def _call_owners(self, trainer: Any, method: str, *args: Any) -> list[Any]:
        """Calls a method of every owner."""
        if self._run.workers == 1:
            calls = [_worker(trainer).__ray_call__.remote(_call, method, *args)]
        else:
            from .actors.owner_actor import find_owners

            owners = find_owners(self._run, self._root)
            calls = [getattr(owner, method).remote(*args) for owner in owners]
        results: list[Any] = ray.get(calls, timeout=_WAIT_S)
        return results


def _worker(trainer: Any) -> Any:
    manager = getattr(trainer, "reward_loop_manager", None)
    if manager is not None:
        return manager.reward_loop_workers[0]
    return ray.get_actor("reward_loop_worker_0")


def _call(worker: Any, method: str, *args: Any) -> Any:
    """Runs in the reward worker."""
    return getattr(worker.reward_manager.owner, method)(*args)
