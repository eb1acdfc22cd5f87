"""What a person sees: text cut to the terminal, colours on a terminal only, tables."""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import Sequence
from typing import TextIO

_PIPE_WIDTH = 100
_MIN_WIDTH = 60
_MAX_WIDTH = 120

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Style:
    """Colours for a stream; none in a pipe, with NO_COLOR set or on a dumb terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._on = (
            stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        )

    def __call__(self, text: str, *names: str) -> str:
        if not self._on or not text:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"


def terminal_width() -> int:
    """Columns to fill: those of the terminal (or COLUMNS) within reason, 100 in a pipe."""
    columns = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
    return max(_MIN_WIDTH, min(columns, _MAX_WIDTH))


def clean(text: str) -> str:
    """One line of printable text: a response must not steer the terminal."""
    flat = " ".join(text.split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in flat)


def columns(text: str) -> int:
    """How many columns a terminal needs for the text."""
    return sum(_columns(c) for c in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def clip(text: str, width: int) -> str:
    """The text on one line, cut with an ellipsis where it needs more than width columns."""
    text = clean(text)
    if columns(text) <= width:
        return text
    room, cut = width - 1, []
    for char in text:
        room -= _columns(char)
        if room < 0:
            break
        cut.append(char)
    return "".join(cut).rstrip() + "…"


def pad(text: str, width: int, align: str = "<") -> str:
    """The text filled up with spaces to width columns; ``align`` is ``<`` or ``>``."""
    fill = " " * max(0, width - columns(text))
    return text + fill if align == "<" else fill + text


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: first column to the left, numbers to the right, a rule below the head."""
    cells = [list(head), *(list(row) for row in rows)]
    widths = [max(columns(row[i]) for row in cells) for i in range(len(head))]
    lines = [
        "  ".join(pad(cell, widths[i], ">" if i else "<") for i, cell in enumerate(row)).rstrip()
        for row in cells
    ]
    lines.insert(1, "─" * (sum(widths) + 2 * (len(widths) - 1)))
    return lines


def decimals(value: float | None, form: str = ".3f") -> str:
    return "-" if value is None else format(value, form)


def short(count: int) -> str:
    """A count in at most six columns: 98,765 or 1.23M."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= 100 * 10**3 and count >= size:
            value = count / size
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}{unit}"
    return f"{count:,}"
