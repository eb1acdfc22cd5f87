"""The owners as named Ray actors, for trainers with several reward workers.

Ray places them, restarts one that died and delivers to it; which owner a rollout
belongs to follows from its query alone. The actors are detached, since a worker
that made one may die alone; they end by themselves when no reward worker is left.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import uuid
import zlib
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayActorError

from .extra import Verdict, failed
from .owner import Owner
from .rows import Rollout
from .tracker import Resume
from .validate import Plan

log = logging.getLogger(__name__)

# Ray's own bound of 1,000 calls at once would let siblings wait outside for ever.
_CALLS = 1_000_000
_WATCH_S = 5.0
_ORPHAN_S = 120.0


def shard_of(query_id: str, count: int) -> int:
    """The owner of a query; the same rule as in ``Scorer.restore_from``."""
    return zlib.crc32(query_id.encode("utf-8", "replace")) % count


def actor_name(plan: Plan, root: Path, index: int) -> str:
    """Where to find an owner: the same for all who read the same configuration.

    A later job must not find the owners of an earlier one, nor a manager those of
    another one with other options.
    """
    settings = plan.settings
    parts = (root, plan.group_size, settings.scorer.method, settings.scorer.judge)
    digest = hashlib.sha256(repr((*parts, settings.rendezvous)).encode()).hexdigest()[:8]
    job = ray.get_runtime_context().get_job_id()
    return f"rankbuffer-{job}-{digest}-{index}-of-{settings.rendezvous.owners}"


def find_owners(plan: Plan, root: Path) -> list[Any]:
    """The owners of a job, from any of its processes."""
    count = plan.settings.rendezvous.owners
    return [ray.get_actor(actor_name(plan, root, i)) for i in range(count)]


class OwnerActor:
    """An owner and the reward workers it lives for."""

    def __init__(
        self, plan: Plan, root: Path, at: Resume, run_id: str, index: int, count: int
    ) -> None:
        self._owner = Owner(plan, root, at, run_id, index, count)
        self._run_id = run_id
        self._workers: list[Any] = []
        self._watch: asyncio.Task[None] | None = None

    async def run_id(self) -> str:
        return self._run_id

    async def score(self, rollout: Rollout) -> Verdict:
        return await self._owner.score(rollout)

    async def register(self, worker: Any, lost: list[str]) -> int:
        """A worker that is there, with the uids whose rollouts died with an earlier owner."""
        self._owner.lose(lost)
        self._workers.append(worker)
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_workers())
        return os.getpid()

    async def checkpoint(self, step: int) -> str | None:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, self._owner.checkpoint, step)

    async def buffer(self, query_id: str) -> dict[str, Any] | None:
        return self._owner.buffer(query_id)

    async def stats(self) -> dict[str, Any]:
        return self._owner.stats()

    async def _watch_workers(self) -> None:
        while self._workers:
            await asyncio.sleep(_WATCH_S)
            alive = await asyncio.gather(*(_alive(worker) for worker in self._workers))
            self._workers = [w for w, lives in zip(self._workers, alive, strict=True) if lives]
        await self._owner.close()
        ray.actor.exit_actor()


async def _alive(worker: Any) -> bool:
    try:
        await asyncio.wait_for(worker.__ray_ready__.remote(), _WATCH_S)
    except RayActorError:
        return False
    except asyncio.TimeoutError:  # busy
        pass
    return True


class RemoteOwners:
    """The owners as a reward worker sees them."""

    def __init__(self, plan: Plan, root: Path, at: Resume) -> None:
        count = plan.settings.rendezvous.owners
        first = _owner(plan, root, at, uuid.uuid4().hex[:12], 0, count)
        run_id = ray.get(first.run_id.remote())  # whoever was first decided it
        handles = [first, *(_owner(plan, root, at, run_id, i, count) for i in range(1, count))]
        patience = plan.settings.rendezvous.restart_s
        self._links = [_Link(handle, patience) for handle in handles]

    async def score(self, rollout: Rollout) -> Verdict:
        link = self._links[shard_of(rollout.query.query_id, len(self._links))]
        return await link.score(rollout)


def _owner(plan: Plan, root: Path, at: Resume, run_id: str, index: int, count: int) -> Any:
    """The named actor, made by the worker that comes first."""
    return (
        ray.remote(OwnerActor)
        .options(
            name=actor_name(plan, root, index),
            get_if_exists=True,
            lifetime="detached",
            max_restarts=-1,
            max_concurrency=_CALLS,
            num_cpus=0,
            scheduling_strategy="SPREAD",
        )
        .remote(plan, root, at, run_id, index, count)
    )


class _Link:
    """One owner, which may die and come back."""

    def __init__(self, handle: Any, patience: float) -> None:
        self._handle = handle
        self._patience = patience
        self._lost: set[str] = set()  # uids whose rollouts the dead owner held
        self._connected: asyncio.Task[bool] | None = None

    async def score(self, rollout: Rollout) -> Verdict:
        for _ in range(3 if rollout.validate else 1):
            if rollout.uid in self._lost or not await self._connect():
                break
            connection = self._connected
            try:
                verdict: Verdict = await self._handle.score.remote(rollout)
                return verdict
            except RayActorError:
                if self._connected is connection:
                    self._connected = None
                if not rollout.validate:
                    self._lost.add(rollout.uid)
                    log.error("rankbuffer: the owner of uid %s died", rollout.uid)
                    await self._connect()  # tells the next owner what was lost
        return failed("lost", "lost")

    async def _connect(self) -> bool:
        """Waits until the owner is there. All rollouts of this worker wait for one attempt."""
        if self._connected is None:
            self._connected = asyncio.create_task(self._register())
        task = self._connected
        there = await asyncio.shield(task)
        if not there and self._connected is task:
            self._connected = None
        return there

    async def _register(self) -> bool:
        me = ray.get_runtime_context().current_actor
        loop = asyncio.get_running_loop()
        end = loop.time() + self._patience
        while True:
            try:
                await self._handle.register.remote(me, sorted(self._lost))
                return True
            except RayActorError as error:
                if loop.time() > end:
                    log.error("rankbuffer: an owner did not come back: %s", error)
                    return False
                await asyncio.sleep(0.5)
