"""Groups that failed: why, and when so many fail in a row that the judge must be gone."""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from ..errors import JudgeError, in_python
from ..scorer import Scorer
from .text import clip

MAX_FAILURES = 20
_REASONS = 3
_WIDTH = 400

T = TypeVar("T")


class JudgeGone(JudgeError):
    """A run ended early since one group after the other failed."""


def add_max_failures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-failures",
        type=_count,
        default=MAX_FAILURES,
        metavar="N",
        help="stop when N groups in a row failed and keep none of them, so that the same "
        f"command goes on before them (default {MAX_FAILURES}; 0: never)",
    )


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def reason(row: Mapping[str, Any]) -> str:
    """Why a group is not ok, on one line, options named as on the command line."""
    return clip(in_python(row.get("error") or "no reason was given"), _WIDTH)


class Reasons:
    """Why groups failed or are partial, counted over the rows of a run."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, row: Mapping[str, Any]) -> None:
        if row["group_status"] != "ok":
            self._counts[reason(row)] += 1

    def lines(self, what: str) -> Iterator[str]:
        """The most frequent ones, for stderr; nothing if no group has one."""
        if not self._counts:
            return
        yield f"{what}: why groups failed or are partial (the first error of each):"
        for text, count in self._counts.most_common(_REASONS):
            yield f"  {count:,} x {text}"
        if (more := len(self._counts) - _REASONS) > 0:
            yield f"  and {more:,} other reasons"


class Streak(Generic[T]):
    """Failed groups that no other has followed yet, held back: the judge may be gone.

    A failed group changes no buffer, so what was scored before these can be saved
    without them. Once another follows they must be written down as failed: it was
    scored on the buffers without them.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: list[T] = []
        self._first = ""

    def __len__(self) -> int:
        return len(self._held)

    @property
    def over(self) -> bool:
        return 0 < self._limit <= len(self._held)

    def take(self, row: Mapping[str, Any], item: T) -> list[T]:
        """The items to write down now that a group has come to this row."""
        if self._limit and row["group_status"] == "failed":
            if not self._held:
                self._first = reason(row)
            self._held.append(item)
            return []
        return [*self.release(), item]

    def release(self) -> list[T]:
        held, self._held = self._held, []
        return held

    async def judge(self, scorer: Scorer, what: str) -> None:
        """Raises JudgeGone if the streak is too long, or the endpoint does not answer any more."""
        if not self._held:
            return
        if not self.over:
            try:
                await asyncio.to_thread(scorer.check)
                return
            except JudgeError:
                pass
        raise JudgeGone(
            f"{what}: stopped, the last {len(self._held):,} groups failed, the first of them "
            f"with: {self._first}\nThey are not kept: once the judge is back, the same command "
            "tries them again and goes on. With --max-failures 0 they are kept as failed."
        )
