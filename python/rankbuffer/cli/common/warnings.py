"""Warnings of the library as a person at a terminal wants them: each once, on stderr."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from typing import TextIO

from ...errors import RankBufferWarning


@contextlib.contextmanager
def shown_once(command: str) -> Iterator[None]:
    """Prints ``RankBufferWarning``s within the block; others stay as Python shows them."""
    shown: set[str] = set()
    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=RankBufferWarning)
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, RankBufferWarning):
                usual(message, category, filename, lineno, file, line)
            elif (text := str(message)) not in shown:
                shown.add(text)
                print(f"rankbuffer {command}: warning: {text}", file=sys.stderr)

        warnings.showwarning = show
        yield
