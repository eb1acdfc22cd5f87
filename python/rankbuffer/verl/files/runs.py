"""The files of one run of the trainer: each owner's bases and journal segments."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from ..._whole import sync_directory
from ...errors import CheckpointError
from .beside_model import saved_by, shards_of
from .layout import (
    COMPLETE,
    FORMAT,
    HOME,
    MANIFEST,
    Base,
    Shard,
    list_bases,
    list_runs,
    list_segments,
    read_json,
    run_number,
    shard_name,
    write_json,
)  # fmt: skip
from .trainer_checkpoints import Resume, Signature

_ABOUT = "RUN.json"


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What ``Scorer.restore_from`` is to read.

    ``filtered``: the journals go beyond the step, so entries after it must be left out.
    ``origin`` names the directory for messages.
    """

    checkpoints: list[Path] = field(default_factory=list)
    journals: list[Path] = field(default_factory=list)
    filtered: bool = False
    origin: str = "nothing"


def sources(resume: Resume) -> Sources:
    """The files that hold the buffers of a resumed step, for any number of owners.

    Raises CheckpointError if there are files of ours, but none that cover the step.
    """
    if resume.step == 0 or resume.directory is None:
        return Sources()
    home = resume.directory.parent / HOME
    runs = [run for run in list_runs(home) if (run / COMPLETE).exists()]
    saved = shards_of(resume.directory / HOME)
    if saved is not None and not (runs and _outdated(resume, runs[-1])):
        return Sources(checkpoints=saved, origin=str(resume.directory / HOME))
    if not runs:
        return Sources()
    run = runs[-1]
    checkpoints, journals = [], []
    for shard in sorted(run.glob("shard-*")):
        reach = [b for b in list_bases(shard) if b.step <= resume.step]
        if not reach:
            raise CheckpointError(
                f"{shard} does not reach back to step {resume.step}, and "
                f"{resume.directory / HOME} is missing"
            )
        newest = reach[-1]
        checkpoints.append(newest.path)
        journals += [path for _, _, path in list_segments(shard, newest.number)]
    return Sources(checkpoints=checkpoints, journals=journals, filtered=True, origin=str(run))


def _outdated(resume: Resume, run: Path) -> bool:
    """Whether a later run saved the model of this step again and died before it saved buffers.

    Such a run did not start beyond the step, and the model's files are newer than the
    manifest of the buffers. Then the run's own journal has the buffers of the step.
    """
    directory = resume.directory
    assert directory is not None
    manifest = directory / HOME / MANIFEST
    start = (read_json(run / _ABOUT) or {}).get("step", resume.step)
    data = directory / "data.pt"
    if _run_id(run) == saved_by(directory / HOME) or start > resume.step or not data.exists():
        return False
    return data.stat().st_mtime_ns > manifest.stat().st_mtime_ns


def create_run(root: Path, run_id: str, shards: int, step: int) -> Path:
    """The directory of a run. The first owner creates it."""
    run = find_run(root, run_id)
    if run is None:
        home = root / HOME
        home.mkdir(parents=True, exist_ok=True)
        last = max(map(run_number, list_runs(home)), default=0)
        run = home / f"run-{last + 1:06d}-{run_id}"
        run.mkdir()
    if not (run / _ABOUT).exists():
        about = {"format": FORMAT, "run": run_id, "shards": shards, "step": step}
        write_json(run / _ABOUT, about, shared=False)
    return run


def find_run(root: Path, run_id: str) -> Path | None:
    return next((run for run in list_runs(root / HOME) if _run_id(run) == run_id), None)


def complete_run(run: Path, shards: int) -> bool:
    """Marks a run as complete once all its shards have a base, and removes the older runs."""
    if any(not list_bases(run / shard_name(i, shards)) for i in range(shards)):
        return False
    (run / COMPLETE).touch()
    sync_directory(run)
    for other in list_runs(run.parent):
        if other.name != run.name:
            shutil.rmtree(other, ignore_errors=True)
    return True


def is_newest(run: Path) -> bool:
    """Whether this run's files exist and no later run of the trainer writes beside it."""
    return list_runs(run.parent)[-1:] == [run] and (run / _ABOUT).exists()


def _run_id(run: Path) -> str:
    return run.name.split("-", 2)[2]


class ShardFiles:
    """The bases and segments of one owner within a run."""

    def __init__(self, run: Path, index: int, count: int) -> None:
        self.run = run
        self.shard = Shard(run_id=_run_id(run), index=index, count=count)
        self.directory = run / self.shard.name
        self.directory.mkdir(exist_ok=True)
        self._clean()

    def existing(self) -> Sources | None:
        """All that this shard has written in this run; None if it has written nothing yet."""
        bases = list_bases(self.directory)
        if not bases:
            return None
        newest = bases[-1]
        journals = [path for _, _, path in list_segments(self.directory, newest.number)]
        return Sources(checkpoints=[newest.path], journals=journals, origin=str(self.directory))

    def newest(self) -> Base:
        return list_bases(self.directory)[-1]

    def next_base(self) -> tuple[Path, Path]:
        """The paths of the next journal segment and of the base that comes before it."""
        number = max((n for n, _, _ in list_segments(self.directory, 0)), default=-1) + 1
        return self._segment(number, 0), self.directory / f"base-{number:06d}.zst"

    def next_segment(self) -> Path:
        """The path of the journal segment after a restart."""
        number, attempt, _ = list_segments(self.directory, 0)[-1]
        return self._segment(number, attempt + 1)

    def _clean(self) -> None:
        """Removes what this owner had not written to its end before it died."""
        unfinished = [
            path
            for path in self.directory.glob("base-*.zst")
            if not path.with_suffix(".json").exists()
        ]
        for path in [*self.directory.glob(".*.tmp"), *unfinished]:
            path.unlink(missing_ok=True)

    def describe(self, base: Path, step: int, step_file: Signature, *, beside_model: bool) -> None:
        """Writes which step a base is of. From now on the base is used."""
        about = {"step": step, "step_file": step_file, "beside_model": beside_model}
        write_json(base.with_suffix(".json"), about, shared=False)

    def _segment(self, number: int, attempt: int) -> Path:
        return self.directory / f"segment-{number:06d}-{attempt:02d}.rbj"

    def prune(self, resumable: int) -> None:
        """Removes what is older than the newest base from which that step can be resumed."""
        reach = [b for b in list_bases(self.directory) if b.step <= resumable]
        if not reach:
            return
        keep = reach[-1].number
        for old in list_bases(self.directory):
            if old.number < keep:
                old.path.with_suffix(".json").unlink(missing_ok=True)
                old.path.unlink(missing_ok=True)
        for number, _, path in list_segments(self.directory, 0):
            if number < keep:
                path.unlink(missing_ok=True)
