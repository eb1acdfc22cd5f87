"""The owners as named Ray actors, for trainers with several reward workers.

Ray places them, restarts one that died and delivers to it; which owner a rollout
belongs to follows from its query alone. The actors are detached, since a worker
that made one may die alone; they end by themselves when no reward worker has been
heard of for a while.

A call that waits for its group would hold a fiber of Ray's for minutes, thousands
of them at once. So rollouts are handed over in batches by calls that return at
once, and one call of each worker waits for whatever verdicts are ready.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import threading
import time
import uuid
import zlib
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import ray

from ..config.validate import Plan
from ..files.tracker import Resume
from ..owner import Owner
from ..rollouts.rows import Key, Rollout
from ..verdict import Verdict
from .desk import Desk, Handed, Ready
from .link import Link
from .silence import Silence

log = logging.getLogger(__name__)

_NAMESPACE = "rankbuffer"
_CALLS = 10_000  # Ray's own bound is 1,000; ours never need more than two a worker
_BEAT_S = 5.0
_START_S = 1800.0  # in which an owner restores the buffers
_FINDS = 5


def shard_of(query_id: str, count: int) -> int:
    """The owner of a query; the same rule as in ``Scorer.restore_from``."""
    return zlib.crc32(query_id.encode("utf-8", "replace")) % count


def actor_name(plan: Plan, root: Path, index: int) -> str:
    """Where to find an owner: the same for all who read the same configuration.

    A later job must not find the owners of an earlier one, nor a manager those of
    another one with other options.
    """
    digest = hashlib.sha256(repr((root, plan)).encode()).hexdigest()[:8]
    job = ray.get_runtime_context().get_job_id()
    return f"rankbuffer-{job}-{digest}-{index}-of-{plan.settings.rendezvous.owners}"


def find_owners(plan: Plan, root: Path) -> list[Any]:
    """The owners of a job, from any of its processes."""
    count = plan.settings.rendezvous.owners
    return [ray.get_actor(actor_name(plan, root, i), _NAMESPACE) for i in range(count)]


def silence_s(plan: Plan) -> float:
    """How long an owner waits for a sign of its workers: as long as they would for one of it."""
    return max(plan.settings.rendezvous.restart_s, 2 * _BEAT_S)


class OwnerActor:
    """An owner and its desk, for as long as there are reward workers."""

    def __init__(
        self, plan: Plan, root: Path, at: Resume, run_id: str, index: int, count: int
    ) -> None:
        self._owner = Owner(plan, root, at, run_id, index, count)
        self._desk = Desk(self._owner)
        self._run_id = run_id
        self._silence = Silence(silence_s(plan), tick=_BEAT_S)
        # Ray runs the constructor of such an actor on its event loop.
        self._watch = asyncio.create_task(self._until_alone())

    async def run_id(self) -> str:
        return self._run_id

    async def beat(self) -> None:
        """Somebody is there."""
        self._silence.heard()

    async def hello(self, worker: str, lost: list[Key]) -> str:
        return await self._desk.hello(worker, lost)

    async def submit(self, worker: str, handed: list[Handed]) -> None:
        await self._desk.submit(worker, handed)

    async def collect(self, worker: str, confirmed: list[int]) -> Ready:
        return await self._desk.collect(worker, confirmed)

    async def checkpoint(self, step: int) -> str | None:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, self._owner.checkpoint, step)

    async def buffer(self, query_id: str) -> dict[str, Any] | None:
        return self._owner.buffer(query_id)

    async def stats(self) -> dict[str, Any]:
        return {**self._owner.stats(), "pid": os.getpid()}

    async def _until_alone(self) -> None:
        await self._silence.wait()
        log.warning("rankbuffer: no reward worker is left: an owner of buffers ends")
        # Nobody waits for what it may still be judging, and the journal has the rest.
        # exit_actor() is for calls, and this task is none.
        ray.kill(ray.get_runtime_context().current_actor, no_restart=True)


class RemoteOwners:
    """The owners as a reward worker sees them."""

    def __init__(self, plan: Plan, root: Path, at: Resume) -> None:
        count = plan.settings.rendezvous.owners
        first = _owner(plan, root, at, uuid.uuid4().hex[:12], 0, count)
        run_id = ray.get(first.run_id.remote(), timeout=_START_S)  # whoever was first decided it
        finds = [partial(_owner, plan, root, at, run_id, i, count) for i in range(count)]
        self._links = [Link(find, plan.settings.rendezvous.restart_s) for find in finds]
        threading.Thread(target=self._beat, name="rankbuffer-beat", daemon=True).start()
        # An owner that cannot restore its buffers says so here.
        ray.get([link.owner.run_id.remote() for link in self._links], timeout=_START_S)

    async def score(self, rollout: Rollout) -> Verdict:
        link = self._links[shard_of(rollout.query.query_id, len(self._links))]
        return await link.score(rollout)

    def _beat(self) -> None:
        """For as long as this process lives; a rollout may not come for hours."""
        while ray.is_initialized():
            for link in self._links:
                with suppress(Exception):  # the link finds out, and finds another
                    link.owner.beat.remote()
            time.sleep(_BEAT_S)


def _owner(plan: Plan, root: Path, at: Resume, run_id: str, index: int, count: int) -> Any:
    """The named actor, made by the worker that comes first, or finds that it has gone."""
    options = ray.remote(OwnerActor).options(
        name=actor_name(plan, root, index),
        namespace=_NAMESPACE,
        get_if_exists=True,
        lifetime="detached",
        max_restarts=-1,
        max_concurrency=_CALLS,
        num_cpus=0,
        scheduling_strategy="SPREAD",
    )
    for _ in range(_FINDS):
        with suppress(ValueError):  # it was there, and ended before Ray had looked it up
            return options.remote(plan, root, at, run_id, index, count)
    return options.remote(plan, root, at, run_id, index, count)
