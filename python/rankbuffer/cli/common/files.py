"""What commands do with their files: check the output, lock a run, keep its settings."""

from __future__ import annotations

import contextlib
import fcntl
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..._version import __version__
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
    """Refuses to resume a run with other settings than those it began with, kept in ``path``.

    UsageError names the settings that differ, and the ``option`` that takes another path.
    """
    now = json.loads(json.dumps({"rankbuffer": __version__, **settings}))
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
