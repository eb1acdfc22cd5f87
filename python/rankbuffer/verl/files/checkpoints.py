"""What an owner restores when it starts, and saves at each step that the trainer saves."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import CheckpointError, ClosedError, RankBufferError
from ...scorer import Scorer
from ..config.validate import Plan
from .layout import Base
from .published import prune_published, prune_staging, publish
from .runs import (
    ShardFiles,
    Sources,
    complete_run,
    create_run,
    find_run,
    is_newest,
    sources,
)  # fmt: skip
from .tracker import Resume, Tracker, step_directories

log = logging.getLogger(__name__)

_WAYS_OUT = (
    "resume another step; or, if global_step_N/rankbuffer is what is damaged, remove it to restore "
    "from the journal; or +reward.rankbuffer.checkpoint.on_missing=fresh starts with empty buffers"
)


class Checkpoints:
    """One owner's files. Building it restores the scorer; any thread may call the rest."""

    def __init__(
        self,
        plan: Plan,
        scorer: Scorer,
        root: Path,
        at: Resume,
        run_id: str,
        shard: tuple[int, int],
        answers: int,
    ) -> None:
        """``answers``: how many groups of an earlier life ``take_answered`` gives at most."""
        self._plan = plan
        self._scorer = scorer
        self._root = root
        self._shard = shard
        self._answers = answers
        self._tracker = Tracker(root)
        self._lock = threading.Lock()  # one save at a time; protects what follows
        self._mark = at.step
        self._tracked = self._tracker.signature()
        self._problem: str | None = None
        self._told = False
        self._left = False  # to a later run
        self._answered: list[dict[str, Any]] = []
        self._files = self._go_on(run_id) or self._begin(at, run_id)

    def take_answered(self) -> list[dict[str, Any]]:
        """Groups that an earlier life of this owner had scored, from its journal; once."""
        taken, self._answered = self._answered, []
        return taken

    def mark(self) -> int:
        """The newest saved step, for a group that opens now.

        Rows of the older trainer carry no step: the first group after the tracker
        file has changed is the first that the checkpoint does not hold.
        """
        with self._lock:
            self._follow_tracker()
            return self._mark

    @property
    def newest(self) -> int:
        """The newest saved step, as far as it is known."""
        return self._mark

    def save(self, step: int) -> str | None:
        """Saves the state as that of a step. What went wrong with it, or None."""
        with self._lock:
            if self._is_left():
                return "a later run of the trainer saves here"
            self._save_once(step)
            return self._problem if step == self._mark else None

    def look(self) -> None:
        """Follows the tracker where no group comes, and tells what nobody else would."""
        with self._lock, suppress(ClosedError):
            self._follow_tracker()
            self._check_journal()

    # Saving. The caller holds the lock.

    def _follow_tracker(self) -> None:
        """Saves when the trainer has saved without telling."""
        signature = self._tracker.signature()
        if signature == self._tracked or self._is_left():
            return
        step = self._tracker.step()
        if step == 0:  # being written
            return
        self._save_once(step)
        self._tracked = signature

    def _is_left(self) -> bool:
        """Whether the tracker is a later run's: an owner outlives its job for a while."""
        if not self._left and not is_newest(self._files.run):
            self._left = True
            log.error("rankbuffer: a later run of the trainer saves in %s", self._files.run.parent)
        return self._left

    def _save_once(self, step: int) -> None:
        """The mark moves even if saving fails: groups from now on are not part of the step."""
        if step <= self._mark:
            return
        self._mark, self._problem = step, None
        try:
            self._save(step)
        except (RankBufferError, OSError) as error:
            log.error("rankbuffer: checkpoint of step %d: %s", step, error)
            self._problem = str(error)

    def _save(self, step: int) -> None:
        self._check_journal()
        segment, path = self._files.next_base()
        self._scorer.journal(segment, snapshot=path)
        self._told = False
        self._files.label(path, step, self._tracker.signature(), publish=True)
        try:
            publish(path, self._files.shard, self._root, step)
        finally:
            resumable = self._tracker.step()
            self._files.prune(resumable)
            prune_published(self._root, resumable)
            prune_staging(self._root, self._files.shard.run_id, step)

    def _check_journal(self) -> None:
        """The scorer counts changes that it could not write down, and goes on."""
        journal = self._scorer.stats().get("journal") or {}
        if not journal.get("errors") or self._told:
            return
        self._told = True
        log.error(
            "rankbuffer: the journal lacks changes of buffers: %.300s; until the next checkpoint "
            "a resume may give other buffers",
            journal.get("last_error"),
        )

    # Restoring.

    def _go_on(self, run_id: str) -> ShardFiles | None:
        """With everything this run wrote, if its owner was restarted; None at first."""
        run = find_run(self._root, run_id)
        files = ShardFiles(run, *self._shard) if run is not None else None
        existing = files.existing() if files is not None else None
        if files is None or existing is None:
            return None
        newest = files.newest()
        self._mark = self._last_mark(existing, newest)
        self._tracked = newest.tracked
        found = self._scorer.restore_from(
            checkpoints=existing.checkpoints, journals=existing.journals, results=self._answers
        )
        self._answered = found["results"]
        self._scorer.journal(files.next_segment())
        log.warning("rankbuffer: owner restarted from %s: %s", existing.origin, _counts(found))
        complete_run(files.run, self._shard[1])  # which its death may have prevented
        self._publish(newest, files)
        return files

    def _last_mark(self, existing: Sources, newest: Base) -> int:
        """The newest step that a group was marked with: saving it may have failed."""
        for step in sorted(step_directories(self._root), reverse=True):
            if step <= newest.step:
                break
            found = self._scorer.restore_from(
                checkpoints=existing.checkpoints,
                journals=existing.journals,
                until_after_checkpoint=step,
                results=0,
            )
            if found["skipped"]:
                return step
        return newest.step

    def _begin(self, at: Resume, run_id: str) -> ShardFiles:
        """With the buffers of the resumed step."""
        found = self._resume(at)
        index, count = self._shard
        run = create_run(self._root, run_id, count, at.step)
        files = ShardFiles(run, index, count)
        segment, path = files.next_base()
        self._scorer.journal(segment, snapshot=path)
        # A step whose own buffers are missing, or left by another run, gets them now.
        files.label(path, at.step, self._tracked, publish=found.filtered and at.lies_in(self._root))
        complete_run(run, count)
        self._publish(files.newest(), files)
        prune_staging(self._root, run_id, at.step)
        return files

    def _resume(self, at: Resume) -> Sources:
        """Restores the step; returns what it was read from."""
        try:
            found = sources(at)
            if not found.checkpoints:
                if at.step:
                    raise CheckpointError(f"there are no buffers of step {at.step}")
                return found
            until = {"until_step" if self._exact_steps() else "until_after_checkpoint": at.step}
            counts = self._scorer.restore_from(
                checkpoints=found.checkpoints,
                journals=found.journals,
                shard=self._shard,
                results=0,
                **(until if found.filtered else {}),
            )
        except CheckpointError as error:
            if self._plan.settings.checkpoint.on_missing == "fail":
                raise CheckpointError(f"{error} ({_WAYS_OUT})") from None
            log.warning("rankbuffer: step %d: %s; starting afresh", at.step, error)
            return Sources()
        log.warning(
            "rankbuffer: resumed step %d from %s: %s", at.step, found.origin, _counts(counts)
        )
        return found

    def _exact_steps(self) -> bool:
        return self._plan.steps_in_rows and not self._plan.asynchronous

    def _publish(self, base: Base, files: ShardFiles) -> None:
        """What an earlier life did not come to."""
        if not base.publish:
            return
        try:
            publish(base.path, files.shard, self._root, base.step)
        except (RankBufferError, OSError) as error:
            log.error("rankbuffer: checkpoint of step %d: %s", base.step, error)
            self._problem = str(error)


def _counts(found: dict[str, Any]) -> str:
    return ", ".join(f"{name} {found[name]}" for name in ("queries", "entries", "skipped"))
