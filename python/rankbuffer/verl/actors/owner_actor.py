"""The Ray actor that holds one shard of the buffers.

Owners are detached named actors, because the reward worker that creates one may die
alone. Ray places them and restarts one that dies. An owner ends by itself when no
reward worker has sent a heartbeat for ``rendezvous.restart_s``.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import ray

from ... import _ffi
from ..config.reward_workers import CALLS_PER_WORKER
from ..config.run_config import RunConfig
from ..files.trainer_checkpoints import Resume
from ..owner import Owner
from ..rollout_reward import RolloutReward
from ..rollouts.rows import Rollout
from .heartbeat import HeartbeatMonitor

log = logging.getLogger(__name__)

_NAMESPACE = "rankbuffer"
_CONTROL_CALLS = 1000  # heartbeats, saves and questions, beside the rollouts
_ATTEMPTS = 5
_IDLE_S = 1.0


class OwnerActor:
    """An owner, for as long as there are reward workers."""

    def __init__(
        self, config: RunConfig, root: Path, resume: Resume, run_id: str, index: int, count: int
    ) -> None:
        # Ray gives each waiting call a stack of 256 KiB, of which glibc would keep most.
        _ffi.unmap_large_blocks()
        self._owner = Owner(config, root, resume, run_id, index, count)
        self._run_id = run_id
        self._heartbeat = HeartbeatMonitor(config.settings.rendezvous.restart_s)
        # Ray runs the constructor of such an actor on its event loop.
        self._watch = asyncio.create_task(self._end_without_workers())
        self._trimming: asyncio.Task[None] | None = None

    async def run_id(self) -> str:
        return self._run_id

    async def beat(self) -> None:
        """A reward worker is there."""
        self._heartbeat.beat()

    async def score(self, rollout: Rollout) -> RolloutReward:
        """Returns when the rollout's group has ended. Ray may call it again after a restart."""
        reward = await self._owner.score(rollout)
        if not self._owner.busy and (self._trimming is None or self._trimming.done()):
            self._trimming = asyncio.create_task(self._trim_when_idle())
        return reward

    async def _trim_when_idle(self) -> None:
        """Thousands of calls may have ended: what they held goes back to the system."""
        await asyncio.sleep(_IDLE_S)
        if not self._owner.busy:
            await asyncio.get_running_loop().run_in_executor(None, _ffi.trim_memory)

    async def checkpoint(self, step: int) -> str | None:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, self._owner.checkpoint, step)

    async def buffer(self, query_id: str) -> dict[str, Any] | None:
        return self._owner.buffer(query_id)

    async def stats(self) -> dict[str, Any]:
        return {**self._owner.stats(), "pid": os.getpid()}

    async def _end_without_workers(self) -> None:
        await self._heartbeat.until_stopped()
        log.warning("rankbuffer: no reward worker is left, so this owner of buffers ends")
        # exit_actor() can only be called by a method, and this is a task of our own.
        ray.kill(ray.get_runtime_context().current_actor, no_restart=True)


def get_owner(
    config: RunConfig, root: Path, resume: Resume, run_id: str, index: int, count: int
) -> Any:
    """The handle of an owner. The first worker that asks for an owner creates it."""
    options = ray.remote(OwnerActor).options(
        name=actor_name(config, root, index),
        namespace=_NAMESPACE,
        get_if_exists=True,
        lifetime="detached",
        max_restarts=-1,
        max_concurrency=CALLS_PER_WORKER * config.workers + _CONTROL_CALLS,
        num_cpus=0,
        scheduling_strategy="SPREAD",
    )
    for _ in range(_ATTEMPTS):
        with suppress(ValueError):  # it existed, and ended before Ray had looked it up
            return options.remote(config, root, resume, run_id, index, count)
    return options.remote(config, root, resume, run_id, index, count)


def find_owners(config: RunConfig, root: Path) -> list[Any]:
    """The handles of a job's owners, from any of its processes."""
    count = config.settings.rendezvous.owners
    return [ray.get_actor(actor_name(config, root, i), _NAMESPACE) for i in range(count)]


def actor_name(config: RunConfig, root: Path, index: int) -> str:
    """The name of an owner: the same for all processes that read the same configuration.

    It differs between jobs, and between reward managers of one job with other options.
    """
    digest = hashlib.sha256(repr((root, config)).encode()).hexdigest()[:8]
    job = ray.get_runtime_context().get_job_id()
    return f"rankbuffer-{job}-{digest}-{index}-of-{config.settings.rendezvous.owners}"
