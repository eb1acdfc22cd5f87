"""Who holds the buffers of some queries: their scorer, their groups and their files."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

from ..errors import CheckpointError, RankBufferError
from ..scorer import Scorer
from .extra import Verdict
from .published import prune_published, publish
from .queries import SideFile
from .rendezvous import Rendezvous
from .rows import Key, Rollout
from .runs import ShardFiles, complete_run, create_run, find_run, sources
from .tracker import Resume, Tracker
from .validate import Plan

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
        self._root = root
        self._shard = (index, count)
        settings = plan.settings
        self._side = SideFile(settings.side_file) if settings.side_file else None
        self._scorer = Scorer.from_config(settings.scorer)
        self._tracker = Tracker(root)
        self._tracked = self._tracker.signature()
        self._lock = threading.Lock()  # one checkpoint at a time; protects the mark
        self._mark = at.step
        try:
            self._files = self._restore(at, run_id)
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
        mine = {"groups_open": self._rendezvous.busy, "mark": self._mark}
        return {**self._scorer.stats(), **mine}

    async def close(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
        await self._rendezvous.drain()
        self._scorer.close()

    def _labels(self, rollout: Rollout) -> dict[str, Any]:
        """For the journal, when a group opens.

        Rows of the older trainer carry no step: the first group after the tracker
        file has changed is the first that the checkpoint does not hold.
        """
        self.follow_tracker()
        labels: dict[str, Any] = {"mark": self._mark}
        if self._plan.asynchronous:
            labels["tag"] = rollout.uid[:256]
        return labels

    # Checkpoints.

    def follow_tracker(self) -> None:
        """Checkpoints when the trainer has saved without telling. Never raises."""
        signature = self._tracker.signature()
        if signature == self._tracked:
            return
        step = self._tracker.step()
        if step == 0:  # being written
            return
        self._tracked = signature
        self.checkpoint(step)

    def checkpoint(self, step: int) -> str | None:
        """Saves the state as that of a step. What went wrong, or None; never raises."""
        with self._lock:
            try:
                if step != self._mark:
                    self._mark = step
                    self._save(step)
                return None
            except (RankBufferError, OSError) as error:
                log.error("rankbuffer: checkpoint of step %d: %s", step, error)
                return str(error)

    def _save(self, step: int) -> None:
        segment, base = self._files.next_segment(new_base=True)
        assert base is not None
        self._scorer.journal(segment, snapshot=base)
        self._files.label(base, step, self._tracker.signature())
        publish(base, self._files.shard, self._root, step)
        tracked = self._tracker.step()
        self._files.prune(tracked)
        prune_published(self._root, tracked)

    def _restore(self, at: Resume, run_id: str) -> ShardFiles:
        """The buffers of the resumed step, or of this very run if its owner was restarted."""
        index, count = self._shard
        run = find_run(self._root, run_id)
        if run is not None:
            shard = ShardFiles(run, index, count)
            existing = shard.existing()
            if existing is not None:
                found = self._scorer.restore_from(
                    checkpoints=existing.checkpoints, journals=existing.journals
                )
                newest = shard.newest()
                self._mark, self._tracked = newest.step, newest.tracked
                self._scorer.journal(shard.next_segment(new_base=False)[0])
                log.warning("rankbuffer: owner restarted from %s: %s", existing.origin, found)
                return shard
        self._resume(at)
        run = run or create_run(self._root, run_id, count, at.step)
        shard = ShardFiles(run, index, count)
        segment, base = shard.next_segment(new_base=True)
        assert base is not None
        self._scorer.journal(segment, snapshot=base)
        shard.label(base, at.step, self._tracked)
        complete_run(run, count)
        return shard

    def _resume(self, at: Resume) -> None:
        settings = self._plan.settings.checkpoint
        try:
            found = sources(self._root, at)
            if not found.checkpoints:
                if at.step:
                    log.warning("rankbuffer: step %d has no buffers: starting afresh", at.step)
                return
            until = {"until_step" if self._exact_steps() else "until_mark": at.step}
            counts = self._scorer.restore_from(
                checkpoints=found.checkpoints,
                journals=found.journals,
                shard=self._shard,
                **(until if found.filtered else {}),
            )
        except CheckpointError as error:
            if settings.on_missing == "fail":
                raise
            log.warning("rankbuffer: step %d: %s; starting afresh", at.step, error)
            return
        log.warning("rankbuffer: resumed step %d from %s: %s", at.step, found.origin, counts)

    def _exact_steps(self) -> bool:
        return self._plan.steps_in_rows and not self._plan.asynchronous

    async def _tick(self) -> None:
        """Follows the tracker where no group comes."""
        while True:
            await asyncio.sleep(_TICK_S)
            await asyncio.get_running_loop().run_in_executor(None, self.follow_tracker)
