"""How an owner restores its buffers when it starts, and saves them when the trainer saves."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import CheckpointError, ClosedError, RankBufferError
from ...scorer import Scorer
from ..config.run_config import RunConfig
from .beside_model import copy_beside_model, prune_beside_model, prune_staging
from .layout import Base
from .runs import (
    ShardFiles,
    Sources,
    complete_run,
    create_run,
    find_run,
    is_newest,
    sources,
)  # fmt: skip
from .trainer_checkpoints import LatestStepFile, Resume

log = logging.getLogger(__name__)

_WAYS_OUT = (
    "resume another step; or, if global_step_N/rankbuffer is damaged, remove it to restore from "
    "the journal; or start with empty buffers: +reward.rankbuffer.checkpoint.on_missing=fresh"
)


class OwnerCheckpoints:
    """One owner's files. The constructor restores the scorer; any thread may call the methods."""

    def __init__(
        self,
        config: RunConfig,
        scorer: Scorer,
        root: Path,
        resume: Resume,
        run_id: str,
        shard: tuple[int, int],
        results: int,
    ) -> None:
        """``results``: the most results of earlier groups that ``take_results`` returns."""
        self._config = config
        self._scorer = scorer
        self._root = root
        self._shard = shard
        self._most_results = results
        self._step_file = LatestStepFile(root)
        self._lock = threading.Lock()  # one save at a time; protects the fields below
        self._newest = resume.step
        self._seen = self._step_file.signature()
        self._problem: str | None = None
        self._journal_error_logged = False
        self._superseded = False  # by a later run of the trainer
        self._results: list[dict[str, Any]] = []
        self._files = self._continue(run_id) or self._begin(resume, run_id)

    def take_results(self) -> list[dict[str, Any]]:
        """Results of groups that were scored before this owner was restarted, only once."""
        taken, self._results = self._results, []
        return taken

    def after_checkpoint(self) -> int:
        """The newest saved step, for a group that opens now.

        The older trainer's rows carry no step. There, the first group after verl's step
        file has changed is the first that the checkpoint does not contain.
        """
        with self._lock:
            self._follow_trainer()
            return self._newest

    @property
    def newest(self) -> int:
        """The newest saved step that this owner knows of."""
        return self._newest

    def save(self, step: int) -> str | None:
        """Saves the state as that of a step. Returns what went wrong, or None."""
        with self._lock:
            if self._is_superseded():
                return "a later run of the trainer saves here"
            self._save_once(step)
            return self._problem if step == self._newest else None

    def look(self) -> None:
        """Saves if the trainer has saved, and logs errors of the journal, while no group comes."""
        with self._lock, suppress(ClosedError):
            self._follow_trainer()
            self._check_journal()

    # Saving. The caller holds the lock.

    def _follow_trainer(self) -> None:
        """Saves if the trainer has saved without calling the checkpoint callback."""
        signature = self._step_file.signature()
        if signature == self._seen or self._is_superseded():
            return
        step = self._step_file.step()
        if step == 0:  # being written
            return
        self._save_once(step)
        self._seen = signature

    def _is_superseded(self) -> bool:
        """Whether a later run saves here: an owner lives on for a while after its job has ended."""
        if not self._superseded and not is_newest(self._files.run):
            self._superseded = True
            log.error("rankbuffer: a later run of the trainer saves in %s", self._files.run.parent)
        return self._superseded

    def _save_once(self, step: int) -> None:
        """Counts as the newest step even if saving fails: later groups are not part of it."""
        if step <= self._newest:
            return
        self._newest, self._problem = step, None
        try:
            self._save(step)
        except (RankBufferError, OSError) as error:
            log.error("rankbuffer: checkpoint of step %d: %s", step, error)
            self._problem = str(error)

    def _save(self, step: int) -> None:
        self._check_journal()
        segment, path = self._files.next_base()
        self._scorer.journal(segment, snapshot=path)
        self._journal_error_logged = False
        self._files.describe(path, step, self._step_file.signature(), beside_model=True)
        try:
            copy_beside_model(path, self._files.shard, self._root, step)
        finally:
            resumable = self._step_file.step()
            self._files.prune(resumable)
            prune_beside_model(self._root, resumable)
            prune_staging(self._root, self._files.shard.run_id, step)

    def _check_journal(self) -> None:
        """The scorer goes on when it cannot write to the journal, and counts the errors."""
        journal = self._scorer.stats().get("journal") or {}
        if not journal.get("errors") or self._journal_error_logged:
            return
        self._journal_error_logged = True
        log.error(
            "rankbuffer: the journal lacks changes of buffers: %.300s; a resume from before the "
            "next checkpoint may restore other buffers",
            journal.get("last_error"),
        )

    # Restoring.

    def _continue(self, run_id: str) -> ShardFiles | None:
        """Restores all that this run has written, if it has written anything: a restart."""
        run = find_run(self._root, run_id)
        files = ShardFiles(run, *self._shard) if run is not None else None
        existing = files.existing() if files is not None else None
        if files is None or existing is None:
            return None
        newest = files.newest()
        self._seen = newest.step_file
        found = self._scorer.restore_from(
            checkpoints=existing.checkpoints, journals=existing.journals, results=self._most_results
        )
        # Saving the newest step may have failed, but groups began after it.
        self._newest = max(newest.step, found["after_checkpoint"])
        self._results = found["results"]
        self._scorer.journal(files.next_segment())
        log.warning("rankbuffer: owner restarted from %s: %s", existing.origin, _counts(found))
        complete_run(files.run, self._shard[1])  # in case it died before
        self._copy_beside_model(newest, files)
        return files

    def _begin(self, resume: Resume, run_id: str) -> ShardFiles:
        """Begins a run with the buffers of the resumed step."""
        found = self._restore_step(resume)
        index, count = self._shard
        run = create_run(self._root, run_id, count, resume.step)
        files = ShardFiles(run, index, count)
        segment, path = files.next_base()
        self._scorer.journal(segment, snapshot=path)
        # If the step has no buffers beside its model, or those of another run, it gets them now.
        missing = found.filtered and resume.lies_in(self._root)
        files.describe(path, resume.step, self._seen, beside_model=missing)
        complete_run(run, count)
        self._copy_beside_model(files.newest(), files)
        prune_staging(self._root, run_id, resume.step)
        return files

    def _restore_step(self, resume: Resume) -> Sources:
        """Restores the resumed step and returns the files that it was read from."""
        try:
            found = sources(resume)
            if not found.checkpoints:
                if resume.step:
                    raise CheckpointError(f"there are no buffers of step {resume.step}")
                return found
            until = {"until_step" if self._exact_steps() else "until_after_checkpoint": resume.step}
            counts = self._scorer.restore_from(
                checkpoints=found.checkpoints,
                journals=found.journals,
                shard=self._shard,
                results=0,
                **(until if found.filtered else {}),
            )
        except CheckpointError as error:
            if self._config.settings.checkpoint.on_missing == "fail":
                raise CheckpointError(f"{error} ({_WAYS_OUT})") from None
            log.warning("rankbuffer: step %d: %s; starting with empty buffers", resume.step, error)
            return Sources()
        log.warning(
            "rankbuffer: resumed step %d from %s: %s", resume.step, found.origin, _counts(counts)
        )
        return found

    def _exact_steps(self) -> bool:
        return self._config.steps_in_rows and not self._config.asynchronous

    def _copy_beside_model(self, base: Base, files: ShardFiles) -> None:
        """Does what an owner that died may have left undone."""
        if not base.beside_model:
            return
        try:
            copy_beside_model(base.path, files.shard, self._root, base.step)
        except (RankBufferError, OSError) as error:
            log.error("rankbuffer: checkpoint of step %d: %s", base.step, error)
            self._problem = str(error)


def _counts(found: dict[str, Any]) -> str:
    return ", ".join(f"{name} {found[name]}" for name in ("queries", "entries", "skipped"))
