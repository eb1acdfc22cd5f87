"""Rows of a run and the buffers that go with them, safe against a kill at any moment."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from .._whole import sync_directory
from ..scorer import Scorer


class Journal:
    """Rows of a run, and the snapshot of the buffers as they were after the first n of them.

    A checkpoint makes n rows last and then writes the snapshot under a name that
    holds n, so the two can never be out of step: whatever was written after the
    newest snapshot is cut off when the run goes on, and scored again. ``mark``
    names the input that the rows came from.
    """

    def __init__(self, rows: Path, state: Path) -> None:
        self.rows = rows
        self._state = state

    def newest(self) -> tuple[int, str, Path] | None:
        """The newest snapshot that there are rows enough for: its row count, mark and path."""
        rows = len(self._line_ends())
        return next((found for found in self._snapshots() if 0 < found[0] <= rows), None)

    def cut(self, count: int) -> None:
        """Drops all rows after the first ``count``, a torn last line and later snapshots."""
        for later, _, snapshot in self._snapshots():
            if later > count:
                snapshot.unlink()
        ends = self._line_ends()
        with self.rows.open("ab") as file:
            file.truncate(ends[count - 1] if count else 0)
            os.fsync(file.fileno())

    def append(self, lines: Iterable[str]) -> None:
        """Adds rows; the next checkpoint makes them last."""
        with self.rows.open("a", encoding="utf-8") as file:
            file.writelines(lines)

    def checkpoint(self, scorer: Scorer, count: int, mark: str) -> Path:
        """Makes ``count`` rows and the scorer's buffers last. Nothing may be in flight."""
        with self.rows.open("ab") as file:
            os.fsync(file.fileno())
        sync_directory(self.rows.parent)
        newest = self._state / f"{count:09d}-{mark}.zst"
        scorer.snapshot(newest)
        for _, _, snapshot in self._snapshots():
            if snapshot != newest:
                snapshot.unlink()
        return newest

    def _snapshots(self) -> list[tuple[int, str, Path]]:
        """Row count, mark and path of each snapshot, newest first."""
        found = []
        for path in self._state.glob("*-*.zst"):
            count, _, mark = path.stem.partition("-")
            if count.isdecimal():
                found.append((int(count), mark, path))
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
