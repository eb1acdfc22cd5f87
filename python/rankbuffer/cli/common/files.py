"""What a command does with the files it was told of: refuses, locks, holds to settings."""

from __future__ import annotations

import contextlib
import fcntl
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..._whole import write_whole
from ...errors import FileError
from .options import UsageError


def check_output(path: Path) -> None:
    """Refuses a file that could not be written, before any call is paid for."""
    if path.is_dir():
        raise UsageError(f"-o: {path} is a directory; name a file in it")
    if path.exists() and not path.is_file():
        raise UsageError(f"-o: {path} is not a regular file; name another")
    if not path.parent.is_dir():
        raise UsageError(f"-o: there is no directory {path.parent}; make it first")


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the lock of a run; ends with the process, however it ends."""
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileError(f"{path.parent}: another run is writing here; wait for it") from None
        yield


def settle(path: Path, settings: Mapping[str, Any], option: str) -> None:
    """Holds a run to the settings it was begun with, which ``path`` keeps.

    UsageError where settings differ, naming them and the ``option`` that leads
    elsewhere.
    """
    now = json.loads(json.dumps(settings))
    if not path.exists():
        with write_whole(path) as write:
            write(json.dumps(now, indent=2, ensure_ascii=False) + "\n")
        return
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise FileError(f"{path}: not the settings of a run; use another {option}") from None
    if changes := list(_changes(before, now, "")):
        raise UsageError(
            f"{path.parent} holds a run with other settings, use another {option}: "
            + "; ".join(changes)
        )


def _changes(before: Any, now: Any, where: str) -> Iterator[str]:
    """What differs between two settings, by name."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in [*before, *(name for name in now if name not in before)]:
            inner = f"{where}.{name}" if where else name
            yield from _changes(before.get(name), now.get(name), inner)
    elif before != now:
        yield f"{where} was {json.dumps(before)}, is now {json.dumps(now)}"
