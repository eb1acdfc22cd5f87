"""The rows that a command has finished, kept so that the same command resumes after a kill.

``score``, ``compare`` and ``rubrics`` all resume by this log. The scorer's own
journal (``Scorer.journal``) cannot serve them. It keeps the results of groups that
are ok and may change a buffer. These commands also keep failed and partial groups,
groups with ``validate`` or ``update=False``, a comparison's anchors after each
group, and rubrics, which belong to no group at all.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from ..._whole import sync_directory, write_whole
from ...scorer import Scorer


class Checkpoint(NamedTuple):
    """The buffers as they were after the first rows of a log."""

    rows: int
    """How many rows."""
    source: str
    """A checksum of the input that these rows came from."""
    path: Path


class RowLog:
    """A file of JSON lines to which rows are appended, and a directory of checkpoints beside it.

    A checkpoint makes the first n rows durable and then writes the buffers under a
    name that holds n, so rows and buffers always agree. Rows after the newest
    checkpoint are dropped when the run resumes, and scored again. ``rubrics``
    changes no buffer and takes no checkpoints: each whole row counts.
    """

    def __init__(self, rows: Path, state: Path) -> None:
        self.rows = rows
        self._state = state
        self._new_rows = state / "replacement.jsonl"
        self._new_buffers = state / "replacement.zst"

    def newest(self) -> Checkpoint | None:
        """The newest checkpoint whose rows are all in the file."""
        rows = self.count()
        return next((found for found in self._checkpoints() if 0 < found.rows <= rows), None)

    def count(self) -> int:
        """How many whole rows the file holds."""
        return len(self._line_ends())

    def cut(self, count: int) -> None:
        """Drops all rows after the first ``count``, a torn last line and later checkpoints."""
        for checkpoint in self._checkpoints():
            if checkpoint.rows > count:
                checkpoint.path.unlink()
        ends = self._line_ends()
        with self.rows.open("ab") as file:
            file.truncate(ends[count - 1] if count else 0)
            os.fsync(file.fileno())

    def append(self, lines: Iterable[str]) -> None:
        """Adds rows; the next checkpoint makes them durable."""
        with self.rows.open("a", encoding="utf-8") as file:
            file.writelines(lines)

    def checkpoint(self, scorer: Scorer, count: int, source: str) -> Path:
        """Makes ``count`` rows and the scorer's buffers durable. No group may be in flight."""
        with self.rows.open("ab") as file:
            os.fsync(file.fileno())
        sync_directory(self.rows.parent)
        newest = self._state / f"{count:09d}-{source}.zst"
        scorer.snapshot(newest)
        for checkpoint in self._checkpoints():
            if checkpoint.path != newest:
                checkpoint.path.unlink()
        return newest

    def replace(self, rows: Mapping[int, str], scorer: Scorer) -> None:
        """Replaces the rows with these numbers and the newest checkpoint, both or neither."""
        with self.rows.open(encoding="utf-8") as file, write_whole(self._new_rows) as write:
            for number, line in enumerate(file):
                write(rows.get(number, line))
        scorer.snapshot(self._new_buffers)
        self.finish_replacing()

    def finish_replacing(self) -> None:
        """Completes a replacement that a kill cut short. It counts once its buffers are written."""
        newest = self.newest()
        if self._new_buffers.exists() and newest is not None:
            if self._new_rows.exists():
                os.replace(self._new_rows, self.rows)
                sync_directory(self.rows.parent)
            os.replace(self._new_buffers, newest.path)
            sync_directory(self._state)
        # Left over from a replacement that never counted, or whose rows were removed since.
        self._new_buffers.unlink(missing_ok=True)
        self._new_rows.unlink(missing_ok=True)

    def _checkpoints(self) -> list[Checkpoint]:
        """Newest first."""
        found = []
        for path in self._state.glob("*-*.zst"):
            count, _, source = path.stem.partition("-")
            if count.isdecimal():
                found.append(Checkpoint(int(count), source, path))
        return sorted(found, reverse=True)

    def _line_ends(self) -> list[int]:
        """Where each whole line ends; a torn last one is not counted."""
        ends, at = [], 0
        with contextlib.suppress(FileNotFoundError), self.rows.open("rb") as file:
            for line in file:
                at += len(line)
                if line.endswith(b"\n"):
                    ends.append(at)
        return ends
