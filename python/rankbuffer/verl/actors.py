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
import time
import uuid
import zlib
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import ray

from .extra import Verdict
from .link import Handed, Link, Ready
from .owner import Owner
from .rows import Key, Rollout
from .tracker import Resume
from .validate import Plan

log = logging.getLogger(__name__)

_NAMESPACE = "rankbuffer"
_CALLS = 10_000  # Ray's own bound is 1,000; ours never need more than two a worker
_POLL_S = 5.0
_ORPHAN_S = 60.0
_START_S = 6 * 3600.0  # from the start of the workers to the first rollout


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
    return [ray.get_actor(actor_name(plan, root, i), _NAMESPACE) for i in range(count)]


class _Outbox:
    """Verdicts that a worker has not confirmed yet."""

    def __init__(self) -> None:
        self.ready: dict[int, Verdict] = {}
        self.some = asyncio.Event()


class OwnerActor:
    """An owner, for as long as there are reward workers."""

    def __init__(
        self, plan: Plan, root: Path, at: Resume, run_id: str, index: int, count: int
    ) -> None:
        self._owner = Owner(plan, root, at, run_id, index, count)
        self._run_id = run_id
        self._life = uuid.uuid4().hex
        self._outboxes: dict[str, _Outbox] = {}
        self._scoring: set[asyncio.Task[None]] = set()
        self._heard = time.monotonic()
        self._watch: asyncio.Task[None] | None = None

    async def run_id(self) -> str:
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_workers())
        return self._run_id

    async def hello(self, worker: str, lost: list[Key]) -> str:
        """A worker is there; ``lost`` names groups whose rollouts died with an earlier life."""
        self._heard = time.monotonic()
        self._owner.lose(lost)
        self._outboxes[worker] = _Outbox()
        if self._watch is None:  # a life that Ray has begun
            self._watch = asyncio.create_task(self._watch_workers())
        return self._life

    async def submit(self, worker: str, handed: list[Handed]) -> None:
        for number, rollout in handed:
            task = asyncio.create_task(self._score(worker, number, rollout))
            self._scoring.add(task)
            task.add_done_callback(self._scoring.discard)

    async def collect(self, worker: str, confirmed: list[int]) -> Ready:
        """The verdicts that are ready, again until they are confirmed; waits for some."""
        self._heard = time.monotonic()
        box = self._outboxes.get(worker)
        if box is None:  # a worker of an earlier life, which will say hello
            return self._life, []
        for number in confirmed:
            box.ready.pop(number, None)
        if not box.ready:
            box.some.clear()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(box.some.wait(), _POLL_S)
        return self._life, list(box.ready.items())

    async def checkpoint(self, step: int) -> str | None:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, self._owner.checkpoint, step)

    async def buffer(self, query_id: str) -> dict[str, Any] | None:
        return self._owner.buffer(query_id)

    async def stats(self) -> dict[str, Any]:
        return {**self._owner.stats(), "pid": os.getpid()}

    async def _score(self, worker: str, number: int, rollout: Rollout) -> None:
        verdict = await self._owner.score(rollout)
        box = self._outboxes.get(worker)
        if box is not None:
            box.ready[number] = verdict
            box.some.set()

    async def _watch_workers(self) -> None:
        # Handles of the workers would tell sooner, and load verl and torch in here.
        while time.monotonic() - self._heard < (_ORPHAN_S if self._outboxes else _START_S):
            await asyncio.sleep(_POLL_S)
        await self._owner.close()
        ray.actor.exit_actor()


class RemoteOwners:
    """The owners as a reward worker sees them."""

    def __init__(self, plan: Plan, root: Path, at: Resume) -> None:
        count = plan.settings.rendezvous.owners
        first = _owner(plan, root, at, uuid.uuid4().hex[:12], 0, count)
        run_id = ray.get(first.run_id.remote())  # whoever was first decided it
        finds = [partial(_owner, plan, root, at, run_id, i, count) for i in range(count)]
        patience = plan.settings.rendezvous.restart_s
        self._links = [Link(find, patience) for find in finds]

    async def score(self, rollout: Rollout) -> Verdict:
        link = self._links[shard_of(rollout.query.query_id, len(self._links))]
        return await link.score(rollout)


def _owner(plan: Plan, root: Path, at: Resume, run_id: str, index: int, count: int) -> Any:
    """The named actor, made by the worker that comes first, or finds that it has gone."""
    return (
        ray.remote(OwnerActor)
        .options(
            name=actor_name(plan, root, index),
            namespace=_NAMESPACE,
            get_if_exists=True,
            lifetime="detached",
            max_restarts=-1,
            max_concurrency=_CALLS,
            num_cpus=0,
            scheduling_strategy="SPREAD",
        )
        .remote(plan, root, at, run_id, index, count)
    )
