"""The journals of a run of the trainer: each owner's bases and segments."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from ..._whole import sync_directory
from ...errors import CheckpointError
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
    numbered_runs,
    read_json,
    shard_name,
    write_json,
)  # fmt: skip
from .published import published_by, shards_of
from .tracker import Resume, Signature

_ABOUT = "RUN.json"


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What ``Scorer.restore_from`` is to read, and where that lies.

    ``filtered``: the journals go beyond the step and must be cut at it.
    """

    checkpoints: list[Path] = field(default_factory=list)
    journals: list[Path] = field(default_factory=list)
    filtered: bool = False
    origin: str = "nothing"


def sources(at: Resume) -> Sources:
    """What gives the buffers of a resumed step back, for any number of owners.

    CheckpointError when there are files of ours but none that reach the step.
    """
    if at.step == 0 or at.directory is None:
        return Sources()
    home = at.directory.parent / HOME
    runs = [run for run in list_runs(home) if (run / COMPLETE).exists()]
    published = shards_of(at.directory / HOME)
    if published is not None and not (runs and _outdated(at, runs[-1])):
        return Sources(checkpoints=published, origin=str(at.directory / HOME))
    if not runs:
        return Sources()
    run = runs[-1]
    checkpoints, journals = [], []
    for shard in sorted(run.glob("shard-*")):
        reach = [b for b in list_bases(shard) if b.step <= at.step]
        if not reach:
            raise CheckpointError(
                f"{shard} does not reach back to step {at.step}, and {at.directory / HOME} is "
                "missing"
            )
        newest = max(reach, key=lambda b: b.number)
        checkpoints.append(newest.path)
        journals += [path for _, _, path in list_segments(shard, newest.number)]
    return Sources(checkpoints=checkpoints, journals=journals, filtered=True, origin=str(run))


def _outdated(at: Resume, run: Path) -> bool:
    """Whether a later run saved the model of this step again and died before our part.

    It then did not start beyond the step, and the model's files are newer than our
    manifest. Where it resumed the step from such a run, its base is what it took.
    """
    assert at.directory is not None
    manifest = at.directory / HOME / MANIFEST
    start = (read_json(run / _ABOUT) or {}).get("step", at.step)
    data = at.directory / "data.pt"
    if _run_id(run) == published_by(at.directory / HOME) or start > at.step or not data.exists():
        return False
    return data.stat().st_mtime_ns > manifest.stat().st_mtime_ns


def create_run(root: Path, run_id: str, shards: int, step: int) -> Path:
    """The directory of a run, whose first owner makes it."""
    run = find_run(root, run_id)
    if run is None:
        home = root / HOME
        home.mkdir(parents=True, exist_ok=True)
        last = max((number for number, _ in numbered_runs(home)), default=0)
        run = home / f"run-{last + 1:06d}-{run_id}"
        run.mkdir()
    if not (run / _ABOUT).exists():
        about = {"format": FORMAT, "run": run_id, "shards": shards, "step": step}
        write_json(run / _ABOUT, about, shared=False)
    return run


def find_run(root: Path, run_id: str) -> Path | None:
    return next((run for run in list_runs(root / HOME) if _run_id(run) == run_id), None)


def complete_run(run: Path, shards: int) -> bool:
    """Marks a run once all its shards have a base; the older runs are then unnecessary."""
    if any(not list_bases(run / shard_name(i, shards)) for i in range(shards)):
        return False
    (run / COMPLETE).touch()
    sync_directory(run)
    for other in list_runs(run.parent):
        if other.name != run.name:
            shutil.rmtree(other, ignore_errors=True)
    return True


def is_newest(run: Path) -> bool:
    """Whether no later run of the trainer writes beside it, and this one's files are there."""
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
        """Everything this shard wrote in this run: an owner that was restarted. None at first."""
        bases = list_bases(self.directory)
        if not bases:
            return None
        newest = max(bases, key=lambda b: b.number)
        journals = [path for _, _, path in list_segments(self.directory, newest.number)]
        return Sources(checkpoints=[newest.path], journals=journals, origin=str(self.directory))

    def newest(self) -> Base:
        return max(list_bases(self.directory), key=lambda b: b.number)

    def next_base(self) -> tuple[Path, Path]:
        """Where the journal goes on after a new base, and where that is to be written."""
        number = max((n for n, _, _ in list_segments(self.directory, 0)), default=-1) + 1
        return self._segment(number, 0), self.directory / f"base-{number:06d}.zst"

    def next_segment(self) -> Path:
        """Where the journal goes on after a restart."""
        number, attempt, _ = list_segments(self.directory, 0)[-1]
        return self._segment(number, attempt + 1)

    def _clean(self) -> None:
        """Removes what an earlier life had not written to its end: nobody else writes here."""
        unlabelled = [
            path
            for path in self.directory.glob("base-*.zst")
            if not path.with_suffix(".json").exists()
        ]
        for path in [*self.directory.glob(".*.tmp"), *unlabelled]:
            path.unlink(missing_ok=True)

    def label(self, base: Path, step: int, tracked: Signature, *, publish: bool) -> None:
        """Says which step a base that was written is of; from now on it counts.

        ``tracked`` is the tracker file as it was known then.
        """
        label = {"step": step, "tracked": tracked, "publish": publish}
        write_json(base.with_suffix(".json"), label, shared=False)

    def _segment(self, number: int, attempt: int) -> Path:
        return self.directory / f"segment-{number:06d}-{attempt:02d}.rbj"

    def prune(self, resumable: int) -> None:
        """Drops what lies before the newest base that a resume of that step can start from."""
        reach = [b for b in list_bases(self.directory) if b.step <= resumable]
        if not reach:
            return
        keep = max(reach, key=lambda b: b.number).number
        for old in list_bases(self.directory):
            if old.number < keep:
                old.path.with_suffix(".json").unlink(missing_ok=True)
                old.path.unlink(missing_ok=True)
        for number, _, path in list_segments(self.directory, 0):
            if number < keep:
                path.unlink(missing_ok=True)
