"""Groups that failed: why, and when so many fail in a row that the judge must be gone."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from ...errors import JudgeError
from .options import add_options
from .text import clip

MAX_FAILURES = 20

# A group that failed with one of these got an answer, so the judge is there.
_ANSWERED = {
    "judge_context_overflow",
    "judge_truncated",
    "judge_empty",
    "judge_refused",
    "judge_no_verdict",
}
_REASONS = 3
_WIDTH = 400

T = TypeVar("T")


class JudgeGone(JudgeError):
    """A run ended early because one group after the other failed."""


_OPTIONS = {
    "--max-failures N": "Stop when N groups in a row failed without an answer of the judge, and "
    "keep none of them. The same command scores them again. "
    f"Default {MAX_FAILURES}; 0 never stops.",
}


def add_max_failures(parser: argparse.ArgumentParser) -> None:
    """``--max-failures``, for commands that score many groups."""
    add_options(parser, _OPTIONS, max_failures={"type": _count, "default": MAX_FAILURES})


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def reason(row: Mapping[str, Any]) -> str:
    """Why a group is not ok, on one line."""
    return clip(row.get("error") or "no reason was given", _WIDTH)


class Reasons:
    """Why groups failed or are partial, counted over the rows of a run."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, row: Mapping[str, Any]) -> None:
        if row["group_status"] != "ok":
            self._counts[reason(row)] += 1

    def lines(self, what: str) -> Iterator[str]:
        """The most frequent reasons, for stderr; nothing if no group has one."""
        if not self._counts:
            return
        yield f"{what}: why groups failed or are partial (the first error of each):"
        for text, count in self._counts.most_common(_REASONS):
            yield f"  {count:,} x {text}"
        if (more := len(self._counts) - _REASONS) > 0:
            yield f"  and {more:,} other reasons"


class Streak(Generic[T]):
    """Holds back the failed groups at the end of a run, since the judge may be gone.

    A failed group changes no buffer, so the groups before it can be saved without it.
    Once the judge answers a later group, the held ones must be written as failed,
    because that group was scored on buffers without them.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: list[T] = []
        self.first_reason = ""

    def __len__(self) -> int:
        return len(self._held)

    @property
    def over(self) -> bool:
        """Whether ``limit`` groups in a row failed without an answer; never with a limit of 0."""
        return 0 < self._limit <= len(self._held)

    def take(self, row: Mapping[str, Any], item: T) -> list[T]:
        """Takes the next group's row and returns the items to write now."""
        failed = row["group_status"] == "failed" and row.get("error_code") not in _ANSWERED
        if self._limit and failed:
            if not self._held:
                self.first_reason = reason(row)
            self._held.append(item)
            return []
        return [*self.release(), item]

    def release(self) -> list[T]:
        """Returns the items held back, and holds none any more."""
        held, self._held = self._held, []
        return held
