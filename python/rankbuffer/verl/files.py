"""The files of the buffers beside the trainer's checkpoints. No verl, no Ray, no scorer in here.

Below ``trainer.default_local_dir``::

    rankbuffer/run-000003-ID/              one run of the trainer, from its start or resume
        RUN.json  COMPLETE                 COMPLETE once every shard has its first base
        shard-0-of-2/base-000004.zst       the state when segment 4 began
        shard-0-of-2/base-000004.json      the step it is of; without this file it does not count
        shard-0-of-2/segment-000004-00.rbj every change since; -01 after the owner was restarted
    global_step_40/rankbuffer/             the buffers of step 40; appears whole
        MANIFEST.json  shard-0-of-2.zst

The newest base at or below a step, and the segments from it on, give that step
back. What a checkpoint makes unnecessary goes; older runs go when a new one is
complete.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import CheckpointError
from .tracker import Resume, Signature, step_directories, step_directory

FORMAT = 1
HOME = "rankbuffer"
_MANIFEST = "MANIFEST.json"
_COMPLETE = "COMPLETE"
_RUN = re.compile(r"run-(\d+)-(.+)$")
_BASE = re.compile(r"base-(\d+)\.json$")
_SEGMENT = re.compile(r"segment-(\d+)-(\d+)\.rbj$")


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What ``Scorer.restore_from`` is to read. ``exact`` is the step it gives back."""

    checkpoints: list[Path] = field(default_factory=list)
    journals: list[Path] = field(default_factory=list)
    filtered: bool = False
    """Whether the journals go beyond the step and must be cut at it."""
    origin: str = "nothing"


@dataclass(frozen=True, kw_only=True)
class Base:
    """A saved state: segments from ``number`` on follow it."""

    number: int
    step: int
    path: Path
    tracked: Signature


# Restoring.


def sources(base: Path, at: Resume) -> Sources:
    """What gives the buffers of a resumed step back, for any number of owners.

    CheckpointError when there are files of ours but none that reach the step.
    """
    if at.step == 0 or at.directory is None:
        return Sources()
    home = at.directory.parent / HOME
    runs = [run for run in _runs(home) if (run / _COMPLETE).exists()]
    published = _published(at.directory / HOME)
    if published is not None and not (runs and _outdated(at, runs[-1])):
        return Sources(checkpoints=published, origin=str(at.directory / HOME))
    if not runs:
        return Sources()
    run = runs[-1]
    checkpoints, journals = [], []
    for shard in sorted(run.glob("shard-*")):
        reach = [b for b in _bases(shard) if b.step <= at.step]
        if not reach:
            raise CheckpointError(
                f"{shard} does not reach back to step {at.step}, and {at.directory / HOME} is "
                "missing: resume another step, or start with empty buffers with "
                "+reward.rankbuffer.checkpoint.on_missing=fresh"
            )
        newest = max(reach, key=lambda b: b.number)
        checkpoints.append(newest.path)
        journals += [path for _, _, path in _segments(shard, newest.number)]
    return Sources(checkpoints=checkpoints, journals=journals, filtered=True, origin=str(run))


def _outdated(at: Resume, run: Path) -> bool:
    """Whether a later run saved the model of this step again and died before our part.

    It then started before the step, and wrote its files after our manifest.
    """
    assert at.directory is not None
    manifest = at.directory / HOME / _MANIFEST
    run_id = (_read_json(manifest) or {}).get("run")
    start = (_read_json(run / "RUN.json") or {}).get("step", at.step)
    data = at.directory / "data.pt"
    if run.name.endswith(f"-{run_id}") or start >= at.step or not data.exists():
        return False
    return data.stat().st_mtime_ns > manifest.stat().st_mtime_ns


def _published(directory: Path) -> list[Path] | None:
    manifest = _read_json(directory / _MANIFEST)
    if manifest is None:
        return None
    if manifest.get("format") != FORMAT:
        raise CheckpointError(
            f"{directory / _MANIFEST}: format {manifest.get('format')!r} is not {FORMAT}, which "
            "this version reads; install the version that wrote it"
        )
    paths = [directory / str(name) for name in manifest.get("shards", [])]
    for path in paths:
        if not path.is_file():
            raise CheckpointError(f"{path} is missing, {directory / _MANIFEST} lists it")
    return paths


# A run and its shards.


def create_run(base: Path, run_id: str, shards: int, step: int) -> Path:
    """The directory of a new run, or the one that this run already has."""
    known = find_run(base, run_id)
    if known is not None:
        return known
    home = base / HOME
    home.mkdir(parents=True, exist_ok=True)
    last = max((number for number, _ in _numbered(home)), default=0)
    run = home / f"run-{last + 1:06d}-{run_id}"
    run.mkdir()
    _write_json(run / "RUN.json", {"format": FORMAT, "run": run_id, "shards": shards, "step": step})
    return run


def find_run(base: Path, run_id: str) -> Path | None:
    return next((run for run in _runs(base / HOME) if run.name.endswith(f"-{run_id}")), None)


def complete_run(run: Path, shards: int) -> bool:
    """Marks a run once all its shards have a base; the older runs are then unnecessary."""
    if any(not _bases(run / shard_name(i, shards)) for i in range(shards)):
        return False
    _write(run / _COMPLETE, b"")
    for other in _runs(run.parent):
        if other.name != run.name:
            shutil.rmtree(other, ignore_errors=True)
    return True


def shard_name(index: int, count: int) -> str:
    return f"shard-{index}-of-{count}"


class ShardFiles:
    """The bases and segments of one owner within a run."""

    def __init__(self, run: Path, index: int, count: int) -> None:
        self.run = run
        self.index = index
        self.count = count
        self.directory = run / shard_name(index, count)
        self.directory.mkdir(exist_ok=True)

    def existing(self) -> Sources | None:
        """Everything this shard wrote in this run: an owner that was restarted. None at first."""
        bases = _bases(self.directory)
        if not bases:
            return None
        newest = max(bases, key=lambda b: b.number)
        journals = [path for _, _, path in _segments(self.directory, newest.number)]
        return Sources(checkpoints=[newest.path], journals=journals, origin=str(self.directory))

    def newest(self) -> Base:
        return max(_bases(self.directory), key=lambda b: b.number)

    def next_segment(self, *, new_base: bool) -> tuple[Path, Path | None]:
        """Where the journal goes on, and where its base is to be written."""
        found = _segments(self.directory, 0)
        number = max((n for n, _, _ in found), default=-1)
        if new_base:
            number += 1
            return self._segment(number, 0), self.directory / f"base-{number:06d}.zst"
        attempt = max(a for n, a, _ in found if n == number) + 1
        return self._segment(number, attempt), None

    def label(self, base: Path, step: int, tracked: Signature) -> None:
        """Says which step a base that was written is of; from now on it counts.

        ``tracked`` is the tracker file as it was known then.
        """
        _write_json(base.with_suffix(".json"), {"step": step, "tracked": tracked})

    def _segment(self, number: int, attempt: int) -> Path:
        return self.directory / f"segment-{number:06d}-{attempt:02d}.rbj"

    def prune(self, tracked: int) -> None:
        """Drops what lies before the newest base that the tracker's step can start from."""
        reach = [b for b in _bases(self.directory) if b.step <= tracked]
        if not reach:
            return
        keep = max(reach, key=lambda b: b.number).number
        for old in _bases(self.directory):
            if old.number < keep:
                old.path.with_suffix(".json").unlink(missing_ok=True)
                old.path.unlink(missing_ok=True)
        for number, _, path in _segments(self.directory, 0):
            if number < keep:
                path.unlink(missing_ok=True)

    def publish(self, base: Path, root: Path, step: int) -> bool:
        """Puts this shard beside the model's checkpoint; the last shard makes it appear.

        True when the checkpoint's buffers are there.
        """
        directory = step_directory(root, step)
        if not directory.is_dir():
            return False
        run_id = self.run.name.partition("-")[2].partition("-")[2]
        staging = directory / f".{HOME}-{run_id}.tmp"
        for stale in directory.glob(f".{HOME}-*.tmp"):
            if stale.name != staging.name:
                shutil.rmtree(stale, ignore_errors=True)
        staging.mkdir(exist_ok=True)
        _link(base, staging / f"{shard_name(self.index, self.count)}.zst")
        names = [f"{shard_name(i, self.count)}.zst" for i in range(self.count)]
        if any(not (staging / name).exists() for name in names):
            return False
        _write_json(
            staging / _MANIFEST, {"format": FORMAT, "step": step, "run": run_id, "shards": names}
        )
        return _appear(staging, directory / HOME)


def prune_published(root: Path, tracked: int) -> None:
    """Our part of checkpoints that verl has removed.

    verl keeps ``max_actor_ckpt_to_keep`` of them by removing ``actor`` and
    ``critic``, not the directory around them.
    """
    for step, directory in step_directories(root).items():
        if step == tracked or any((directory / part).exists() for part in ("actor", "critic")):
            continue
        if (directory / HOME / _MANIFEST).exists():
            shutil.rmtree(directory / HOME, ignore_errors=True)


def _appear(staging: Path, final: Path) -> bool:
    """Renames a finished directory into place, over what an earlier run left there."""
    mine = _read_json(staging / _MANIFEST) or {}
    there = _read_json(final / _MANIFEST)
    if there is not None and there.get("run") != mine.get("run"):
        trash = final.with_name(staging.name + ".old")
        with suppress(OSError):
            final.rename(trash)
        shutil.rmtree(trash, ignore_errors=True)
    try:
        staging.rename(final)
    except OSError:  # another owner was faster
        shutil.rmtree(staging, ignore_errors=True)
    _sync_directory(final.parent)
    return (final / _MANIFEST).exists()


# Names in a directory.


def _runs(home: Path) -> list[Path]:
    """The runs in a directory, oldest first."""
    return [path for _, path in sorted(_numbered(home))]


def _numbered(home: Path) -> list[tuple[int, Path]]:
    matches = [(_RUN.match(path.name), path) for path in _listed(home)]
    return [(int(match[1]), path) for match, path in matches if match is not None]


def _bases(shard: Path) -> list[Base]:
    found = []
    for path in _listed(shard):
        match = _BASE.search(path.name)
        label = _read_json(path) if match is not None else None
        if match is None or label is None or not path.with_suffix(".zst").is_file():
            continue
        found.append(
            Base(
                number=int(match[1]),
                step=int(label["step"]),
                path=path.with_suffix(".zst"),
                tracked=tuple(label["tracked"]) if label["tracked"] else None,
            )
        )
    return found


def _segments(shard: Path, first: int) -> list[tuple[int, int, Path]]:
    found = []
    for path in _listed(shard):
        match = _SEGMENT.search(path.name)
        if match is not None and int(match[1]) >= first:
            found.append((int(match[1]), int(match[2]), path))
    return sorted(found)


def _listed(directory: Path) -> Iterable[Path]:
    return sorted(directory.iterdir()) if directory.is_dir() else []


# Small files that appear whole.


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, NotADirectoryError) as error:
        raise CheckpointError(f"{path}: cannot be read: {error}") from None
    return value if isinstance(value, dict) else None


def _write_json(path: Path, value: Any) -> None:
    _write(path, (json.dumps(value) + "\n").encode())


def _write(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    with suppress(OSError):  # not every file system can
        fd = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _link(source: Path, target: Path) -> None:
    """A second name for a file that nobody changes, or a copy where there are no hard links."""
    with suppress(FileExistsError):
        try:
            os.link(source, target)
        except FileExistsError:
            raise
        except OSError:
            part = target.with_name(f".{target.name}.tmp")
            shutil.copyfile(source, part)
            part.replace(target)
