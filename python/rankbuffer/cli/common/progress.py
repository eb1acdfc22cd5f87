"""One line of progress, on a terminal only."""

from __future__ import annotations

import sys
import time

from .text import clip, terminal_width

_EVERY_S = 0.1


class Progress:
    """How far a long run is, rewritten in place on stderr; silent in a pipe."""

    def __init__(self, what: str, total: int | None, unit: str = "groups") -> None:
        self._what, self._total, self._unit = what, total, unit
        self._on = sys.stderr.isatty()
        self._start = time.monotonic()
        self._shown = 0.0
        self._done = self._first = 0
        self._calls = 0

    def begin(self, done: int) -> None:
        """Counts what earlier runs did, which says nothing about the speed of this one."""
        self._done = self._first = done

    def advance(self, calls: int = 0) -> None:
        """Counts one more, and the judge calls that it took."""
        self._done += 1
        self._calls += calls
        now = time.monotonic()
        if self._on and (now - self._shown >= _EVERY_S or self._done == self._total):
            self._shown = now
            self._write(self._line(now - self._start))

    def _line(self, elapsed: float) -> str:
        of = f"/{self._total:,}" if self._total is not None else ""
        done = f"{self._what}: {self._done:,}{of} {self._unit}"
        line = f"{done}, {self._calls:,} calls, {elapsed:.0f} s"
        new = self._done - self._first
        if self._total is not None and new and elapsed > 2 and self._done < self._total:
            left = elapsed / new * (self._total - self._done)
            line += f", about {left:.0f} s left"
        return line

    def close(self) -> None:
        """Clears the line."""
        if self._shown:
            self._write("")

    def _write(self, line: str) -> None:
        sys.stderr.write("\r\x1b[K" + clip(line, terminal_width() - 1))
        sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
