"""Files that appear completely or not at all, whenever the process dies."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def write_whole(path: Path, *, shared: bool = False) -> Iterator[Callable[[str], object]]:
    """Writes a text file: yields ``write``, and renames at the end."""
    with replacing(path, shared=shared) as part, part.open("w", encoding="utf-8") as file:
        yield file.write


@contextmanager
def replacing(path: Path, *, shared: bool = False) -> Iterator[Path]:
    """Yields the name to write to; what was written then takes the place of ``path``.

    ``shared``: several processes may write it at once. Otherwise the temporary
    name is always the same, so that a killed process leaves one file at most.
    """
    own = f".{uuid.uuid4().hex[:8]}" if shared else ""
    temporary = path.with_name(f".{path.name}{own}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Makes renames in the directory last."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # not every file system can
            os.fsync(fd)
    finally:
        os.close(fd)
