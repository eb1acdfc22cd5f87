"""Where verl keeps its checkpoints and which one it resumes: the decisions of its trainers.

Managers are built before the trainer loads anything, and nothing is called on
load, so the same files and options are read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import ConfigError

TRACKER = "latest_checkpointed_iteration.txt"
_STEP = re.compile(r"global_step_(\d+)/*$")


@dataclass(frozen=True, kw_only=True)
class Resume:
    """The step that training goes on from, and its directory; step 0 starts afresh."""

    step: int = 0
    directory: Path | None = None

    def lies_in(self, root: Path) -> bool:
        """Whether it is this directory's step, not that of another one's checkpoints."""
        here = step_directory(root, self.step)
        return self.directory is not None and self.directory.resolve() == here.resolve()


Signature = tuple[int, ...] | None
"""A file's identity, size and time of change; None: there is no file."""


class Tracker:
    """The file that names the newest checkpoint."""

    def __init__(self, root: Path) -> None:
        self._path = root / TRACKER

    def signature(self) -> Signature:
        """Changes whenever the file is written, be it with the same step."""
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_mtime_ns, stat.st_size

    def step(self) -> int:
        """The newest saved step; 0 for none, and for a file that is being written."""
        try:
            return int(self._path.read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            return 0


def root_of(trainer: Mapping[str, Any]) -> Path:
    """``trainer.default_local_dir``, absolute as the trainer makes it."""
    given = trainer.get("default_local_dir")
    if not given:
        raise ConfigError(
            "trainer.default_local_dir: missing; set it to a directory on shared storage"
        )
    return Path.cwd() / Path(str(given))


def resume(trainer: Mapping[str, Any], root: Path) -> Resume:
    """What verl's ``_load_checkpoint`` will load."""
    mode = trainer.get("resume_mode", "auto")
    if mode == "disable":
        return Resume()
    if mode == "resume_path":
        path = str(trainer.get("resume_from_path") or "")
        match = _STEP.search(path)
        if match is None:
            raise ConfigError(f"trainer.resume_from_path: {path!r} does not end in global_step_N")
        directory = Path.cwd() / path
        if not directory.is_dir():
            raise ConfigError(f"trainer.resume_from_path: there is no directory {directory}")
        return Resume(step=int(match[1]), directory=directory)
    if mode != "auto":
        raise ConfigError(f"trainer.resume_mode: {mode!r} is not one of auto, disable, resume_path")
    step = Tracker(root).step()
    directory = step_directory(root, step)
    if step == 0 or not directory.is_dir():
        return Resume()
    return Resume(step=step, directory=directory)


def step_directory(root: Path, step: int) -> Path:
    return root / f"global_step_{step}"


def step_directories(root: Path) -> dict[int, Path]:
    """Every ``global_step_N`` there is, by N."""
    found = {}
    for path in root.glob("global_step_*"):
        match = _STEP.search(path.name)
        if match is not None and path.is_dir():
            found[int(match[1])] = path
    return found
