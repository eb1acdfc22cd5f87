"""Who holds the buffers of some queries: their scorer, their groups and their files."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from ..errors import RankBufferError
from ..scorer import Scorer
from .config.validate import Plan
from .files.checkpoints import Checkpoints
from .files.tracker import Resume
from .groups.answered import answered, label
from .groups.rendezvous import REMEMBERED, Rendezvous
from .rollouts.queries import SideFile
from .rollouts.rows import Key, Rollout
from .verdict import Verdict

log = logging.getLogger(__name__)

_TICK_S = 5.0


class Owner:
    """The buffers whose query ids fall to shard ``index`` of ``count``.

    Built before the trainer loads its checkpoint, and restores by itself what
    the trainer is about to resume. ``score`` runs on one event loop;
    ``checkpoint`` may be called from any thread.
    """

    def __init__(
        self, plan: Plan, root: Path, at: Resume, run_id: str, index: int = 0, count: int = 1
    ) -> None:
        self._plan = plan
        self._resumed = at.step
        settings = plan.settings
        self._side = SideFile(settings.side_file, check=False) if settings.side_file else None
        self._scorer = Scorer(settings.scorer)
        try:
            self._checkpoints = Checkpoints(
                plan, self._scorer, root, at, run_id, (index, count), REMEMBERED
            )
        except BaseException:
            self._scorer.close()
            raise
        self._rendezvous = Rendezvous(
            self._scorer,
            settings.rendezvous,
            plan.group_size,
            self._labels,
            padded=plan.workers > 1,
        )
        self._rendezvous.remember(answered(self._checkpoints.take_answered()))
        self._ticking: asyncio.Task[None] | None = None

    # Scoring.

    async def score(self, rollout: Rollout) -> Verdict:
        """The rollout's verdict, once its group is done. Never raises but for cancellation."""
        if self._ticking is None or self._ticking.done():
            self._ticking = asyncio.create_task(self._tick())
        if self._side is not None:
            rollout = rollout.with_query(self._side.fill(rollout.query))
        return await self._rendezvous.score(rollout)

    def lose(self, keys: list[Key]) -> None:
        self._rendezvous.lose(keys)

    def buffer(self, query_id: str) -> dict[str, Any] | None:
        """One query's buffer as JSON, None if it is not known here."""
        try:
            return self._scorer.buffer(query_id).raw
        except RankBufferError:
            return None

    def stats(self) -> dict[str, Any]:
        """The scorer's cost ledger, and the state of this owner."""
        mine = {
            "groups_open": self._rendezvous.busy,
            "mark": self._checkpoints.newest,
            "resumed": self._resumed,
        }
        return {**self._scorer.stats(), **mine}

    async def close(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
        await self._rendezvous.drain()
        self._scorer.close()

    def _labels(self, rollout: Rollout) -> dict[str, Any]:
        """For the journal, when a group opens."""
        labels = {"after_checkpoint": self._checkpoints.mark(), "result_key": label(rollout)}
        if self._plan.asynchronous:
            labels["idempotency_key"] = rollout.uid[:256]
        return labels

    def checkpoint(self, step: int) -> str | None:
        """Saves the state as that of a step. What went wrong, or None; never raises."""
        return self._checkpoints.save(step)

    async def _tick(self) -> None:
        """Looks after the files where no group comes."""
        while True:
            await asyncio.sleep(_TICK_S)
            await asyncio.get_running_loop().run_in_executor(None, self._checkpoints.look)
