"""Stops a method at a number of judge tokens, the same groups however they are scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .options import UsageError


class Spending:
    """What the groups of one method have cost, and how many more may be begun at once.

    Groups are taken in a fixed order. None is begun once the tokens of those before
    it, prompt and completion, have reached the budget. Groups that are judged at
    the same time do not know of each other's tokens, so their number is kept so low
    that together they stay below the budget as long as none costs more for its
    length than the costliest so far did; close to the budget they go one by one.
    How many that is depends on the groups alone, not on the judge's speed, on
    ``--concurrency`` or on interruptions.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._groups = self._tokens = 0
        self._rate = 0.0  # tokens for each byte of the costliest group

    @property
    def over(self) -> bool:
        """Whether the budget is spent."""
        return self._tokens >= self._budget

    def add(self, row: Mapping[str, Any], size: int) -> None:
        """Counts a group that was scored, given the bytes of what its judge had to read."""
        tokens = row["tokens"]["prompt"] + row["tokens"]["completion"]
        if tokens == 0 and row["group_status"] == "ok" and any(row["calls"].values()):
            raise UsageError(
                "--budget: the judge's endpoint does not say how many tokens its answers took; "
                "run without --budget"
            )
        self._groups += 1
        self._tokens += tokens
        self._rate = max(self._rate, tokens / max(size, 1))

    def room(self, sizes: Iterable[int]) -> int:
        """How many of the next groups, of these sizes, may be begun at once; at least 1."""
        room, count = self._budget - self._tokens, 0
        for size in sizes:
            room -= int(self._rate * size) + 1
            # The first groups say little about the rest: as many again at most.
            if room < 0 or count >= self._groups:
                break
            count += 1
        return max(count, 1)
