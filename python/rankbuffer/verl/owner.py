"""The owner of one shard of the buffers: its scorer, its groups and its files."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import RankBufferError
from ..scorer import Scorer
from .config.run_config import RunConfig
from .files.owner_checkpoints import OwnerCheckpoints
from .files.trainer_checkpoints import Resume
from .groups.journaled import journaled_groups, result_key
from .groups.rendezvous import REMEMBERED, Rendezvous
from .rollout_reward import RolloutReward
from .rollouts.queries import SideFile
from .rollouts.rows import Rollout

log = logging.getLogger(__name__)

_TICK_S = 5.0


class Owner:
    """The buffers whose query ids fall to shard ``index`` of ``count``.

    An owner is created before the trainer loads its checkpoint. It restores the buffers
    of the step that the trainer is about to resume. ``score`` runs on one event loop;
    ``checkpoint`` may be called from any thread.
    """

    def __init__(
        self,
        config: RunConfig,
        root: Path,
        resume: Resume,
        run_id: str,
        index: int = 0,
        count: int = 1,
    ) -> None:
        self._config = config
        self._resumed = resume.step
        settings = config.settings
        self._side = SideFile(settings.side_file, check=False) if settings.side_file else None
        self._scorer = Scorer(settings.scorer)
        try:
            self._checkpoints = OwnerCheckpoints(
                config, self._scorer, root, resume, run_id, (index, count), REMEMBERED
            )
        except BaseException:
            self._scorer.close()
            raise
        self._rendezvous = Rendezvous(
            self._scorer,
            settings.rendezvous,
            config.group_size,
            self._group_fields,
            padded=config.workers > 1,
        )
        self._rendezvous.remember(journaled_groups(self._checkpoints.take_results()))
        self._ticking: asyncio.Task[None] | None = None

    async def score(self, rollout: Rollout) -> RolloutReward:
        """The rollout's reward, once its group has ended. Raises nothing but CancelledError."""
        if self._ticking is None or self._ticking.done():
            self._ticking = asyncio.create_task(self._tick())
        if self._side is not None:
            rollout = replace(rollout, query=self._side.fill(rollout.query))
        return await self._rendezvous.score(rollout)

    @property
    def busy(self) -> int:
        """Groups and validation rollouts in flight."""
        return self._rendezvous.busy

    def buffer(self, query_id: str) -> dict[str, Any] | None:
        """One query's buffer as JSON, or None if this owner does not have it."""
        try:
            return self._scorer.buffer(query_id).raw
        except RankBufferError:
            return None

    def stats(self) -> dict[str, Any]:
        """The scorer's cost ledger, and the state of this owner."""
        mine = {
            "groups_open": self.busy,
            "newest_checkpoint": self._checkpoints.newest,
            "resumed": self._resumed,
        }
        return {**self._scorer.stats(), **mine}

    async def close(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
        await self._rendezvous.drain()
        self._scorer.close()

    def checkpoint(self, step: int) -> str | None:
        """Saves the state as that of a step. Returns what went wrong, or None; never raises."""
        return self._checkpoints.save(step)

    def _group_fields(self, rollout: Rollout) -> dict[str, Any]:
        """What the journal is to say of a group that opens with this rollout."""
        given = {
            "after_checkpoint": self._checkpoints.after_checkpoint(),
            "result_key": result_key(rollout),
        }
        if self._config.asynchronous:
            given["idempotency_key"] = rollout.uid[:256]
        return given

    async def _tick(self) -> None:
        """Follows the trainer's checkpoints also while no group comes."""
        while True:
            await asyncio.sleep(_TICK_S)
            await asyncio.get_running_loop().run_in_executor(None, self._checkpoints.look)
