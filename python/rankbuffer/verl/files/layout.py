"""The names of the files in which the buffers are kept beside the trainer's checkpoints.

Below ``trainer.default_local_dir``::

    rankbuffer/run-000003-ID/              one run of the trainer, from its start or resume
        RUN.json  COMPLETE                 COMPLETE once every shard has its first base
        shard-0-of-2/base-000004.zst       the state when segment 4 began
        shard-0-of-2/base-000004.json      its step; a base without this file is not used
        shard-0-of-2/segment-000004-00.rbj every change since; -01 after the owner was restarted
    global_step_40/rankbuffer/             the buffers of step 40; appears whole
        MANIFEST.json  shard-0-of-2.zst

The newest base at or below a step, and the segments from it on, restore that step. A
save removes what is no longer needed. A run that is complete removes the older runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._whole import write_whole
from ...errors import CheckpointError
from .trainer_checkpoints import Signature

FORMAT = 1
HOME = "rankbuffer"
MANIFEST = "MANIFEST.json"
COMPLETE = "COMPLETE"
_RUN = re.compile(r"run-(\d+)-(.+)$")
_BASE = re.compile(r"base-(\d+)\.json$")
_SEGMENT = re.compile(r"segment-(\d+)-(\d+)\.rbj$")


@dataclass(frozen=True, kw_only=True)
class Base:
    """A saved state. The segments from ``number`` on hold the changes after it."""

    number: int
    step: int
    path: Path
    step_file: Signature
    """verl's step file as it was when this base was saved."""
    beside_model: bool
    """Whether a copy belongs beside the model of its step."""


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One owner's part of a run."""

    run_id: str
    index: int
    count: int

    @property
    def name(self) -> str:
        return shard_name(self.index, self.count)


def shard_name(index: int, count: int) -> str:
    return f"shard-{index}-of-{count}"


def list_runs(home: Path) -> list[Path]:
    """The runs in a directory, oldest first."""
    found = [(run_number(path), path) for path in _listed(home) if _RUN.match(path.name)]
    return [path for _, path in sorted(found)]


def run_number(run: Path) -> int:
    return int(run.name.split("-")[1])


def list_bases(directory: Path) -> list[Base]:
    """The bases of a shard that were written to their end, in order."""
    found = []
    for path in _listed(directory):
        state = path.with_suffix(".zst")
        if (match := _BASE.search(path.name)) and (about := read_json(path)) and state.is_file():
            base = Base(
                number=int(match[1]),
                step=int(about["step"]),
                path=state,
                step_file=tuple(about["step_file"]) if about["step_file"] else None,
                beside_model=bool(about["beside_model"]),
            )
            found.append(base)
    return sorted(found, key=lambda base: base.number)


def list_segments(directory: Path, first: int) -> list[tuple[int, int, Path]]:
    """The segments of a shard from number ``first`` on, in order: number, restart, path."""
    found = []
    for path in _listed(directory):
        if (match := _SEGMENT.search(path.name)) and int(match[1]) >= first:
            found.append((int(match[1]), int(match[2]), path))
    return sorted(found)


def _listed(directory: Path) -> Iterable[Path]:
    return sorted(directory.iterdir()) if directory.is_dir() else []


def read_json(path: Path) -> dict[str, Any] | None:
    """A small file's object; None if there is no file. Raises CheckpointError if it is damaged."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, NotADirectoryError) as error:
        raise CheckpointError(f"{path}: cannot be read: {error}") from None
    return value if isinstance(value, dict) else None


def write_json(path: Path, value: Any, *, shared: bool = True) -> None:
    """``shared``: owners of several nodes may write the same file."""
    with write_whole(path, shared=shared) as write:
        write(json.dumps(value) + "\n")
