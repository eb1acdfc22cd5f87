"""How a reward worker reaches the owners: one call of an actor's method for each rollout.

Ray delivers. If an owner dies, Ray restarts it and sends it every call again that has
no result yet (``max_task_retries=-1``), from all workers. A group whose result is in
the owner's journal is answered from there and changes its buffer once; every other
group comes together again and is judged again. If it had failed and some workers had
their rewards already, the others get theirs after ``deadline_s``. A waiting call costs
the owner a fiber of about 110 KB, which Ray keeps for the next call.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayActorError

from ..config.run_config import RunConfig
from ..files.trainer_checkpoints import Resume
from ..rollout_reward import LOST, RolloutReward
from ..rollouts.rows import Rollout
from .heartbeat import BEAT_S
from .owner_actor import get_owner

log = logging.getLogger(__name__)

_START_S = 1800.0  # for an owner to restore its buffers
_PAUSE_S = 1.0


def shard_of(query_id: str, count: int) -> int:
    """The owner of a query; the same rule as in ``Scorer.restore_from``."""
    return zlib.crc32(query_id.encode("utf-8", "replace")) % count


class RemoteOwner:
    """One owner as a reward worker sees it."""

    def __init__(self, find: Callable[[], Any], restart_s: float) -> None:
        """``find`` returns the actor's handle and creates the actor if it has ended."""
        self._find = find
        self._restart_s = restart_s
        self._finding = asyncio.Lock()
        self.handle = find()

    async def score(self, rollout: Rollout) -> RolloutReward:
        """The rollout's reward, once its group has ended.

        Ray retries by itself while the actor restarts. An actor that has ended for good
        is created again; if that fails for ``restart_s``, the rollout is lost.
        """
        failing_since = None
        while True:
            handle, sent = self.handle, time.monotonic()
            try:
                call = handle.score.options(max_task_retries=-1)
                reward: RolloutReward = await call.remote(rollout)
                return reward
            except RayActorError as error:
                now = time.monotonic()
                if failing_since is None or now - sent > self._restart_s:  # it had been there
                    failing_since = now
                if now - failing_since > self._restart_s:
                    log.error("rankbuffer: an owner of buffers cannot be started: %.300r", error)
                    return LOST
            await asyncio.sleep(_PAUSE_S)
            async with self._finding:
                if self.handle is handle:  # no other rollout has found a new one
                    with suppress(Exception):  # it may end while it is looked up
                        self.handle = await asyncio.to_thread(self._find)


class RemoteOwners:
    """All owners, each of the queries whose hash falls to its shard."""

    def __init__(self, config: RunConfig, root: Path, resume: Resume) -> None:
        count = config.settings.rendezvous.owners
        first = get_owner(config, root, resume, uuid.uuid4().hex[:12], 0, count)
        # The worker that created the first owner has chosen the id of this run.
        run_id = ray.get(first.run_id.remote(), timeout=_START_S)
        self._owners = [
            RemoteOwner(
                partial(get_owner, config, root, resume, run_id, index, count),
                config.settings.rendezvous.restart_s,
            )
            for index in range(count)
        ]
        threading.Thread(target=self._beat, name="rankbuffer-beat", daemon=True).start()
        # An owner that cannot restore its buffers raises its error here.
        ray.get([owner.handle.run_id.remote() for owner in self._owners], timeout=_START_S)

    async def score(self, rollout: Rollout) -> RolloutReward:
        return await self._owners[shard_of(rollout.query.query_id, len(self._owners))].score(
            rollout
        )

    def _beat(self) -> None:
        """Sends heartbeats for as long as this process lives, also while no rollout comes."""
        while ray.is_initialized():
            for owner in self._owners:
                with suppress(Exception):  # the next rollout creates the owner again
                    owner.handle.beat.remote()
            time.sleep(BEAT_S)
