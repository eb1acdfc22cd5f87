"""Where verl keeps its checkpoints, and which one it will resume.

Reward managers are created before the trainer loads a checkpoint, and verl calls nothing
when it does. So the files and options on which its trainers decide are read here too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import ConfigError

LATEST_STEP = "latest_checkpointed_iteration.txt"
_STEP = re.compile(r"global_step_(\d+)/*$")


@dataclass(frozen=True, kw_only=True)
class Resume:
    """The step that training goes on from, and its directory. Step 0 is a new start."""

    step: int = 0
    directory: Path | None = None

    def lies_in(self, root: Path) -> bool:
        """Whether the step is one of the checkpoints in this directory, not of another run's."""
        here = step_directory(root, self.step)
        return self.directory is not None and self.directory.resolve() == here.resolve()


Signature = tuple[int, ...] | None
"""A file's inode, time of change and size; None if there is no file."""


class LatestStepFile:
    """The file in which verl keeps the step of its newest checkpoint."""

    def __init__(self, root: Path) -> None:
        self._path = root / LATEST_STEP

    def signature(self) -> Signature:
        """Changes whenever the file is written, even with the same step."""
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_mtime_ns, stat.st_size

    def step(self) -> int:
        """The newest saved step; 0 if there is none, or if the file is being written."""
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


def resumed_step(trainer: Mapping[str, Any], root: Path) -> Resume:
    """The checkpoint that verl's ``_load_checkpoint`` will load."""
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
    step = LatestStepFile(root).step()
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
