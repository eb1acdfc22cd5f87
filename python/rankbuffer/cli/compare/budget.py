"""Stops a method at a number of judge tokens, the same groups however they are scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..common.options import UsageError


class Budget:
    """Counts what the groups of one method cost, and says how many more may begin at once.

    Groups are taken in a fixed order. No group begins once the tokens of those before
    it, prompt and completion, have reached the limit. Groups that are judged at the
    same time do not know each other's tokens. So only as many begin as stay below the
    limit together, if none costs more for its length than the costliest so far. Close
    to the limit, groups begin one by one. Their number depends on the groups alone, not
    on the judge's speed, on ``--concurrency`` or on interruptions.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._groups = self._tokens = 0
        self._rate = 0.0  # tokens for each byte of the costliest group

    @property
    def reached(self) -> bool:
        """Whether no further group may begin."""
        return self._tokens >= self._limit

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
        room, count = self._limit - self._tokens, 0
        for size in sizes:
            room -= int(self._rate * size) + 1
            # The first groups say little about the rest: as many again at most.
            if room < 0 or count >= self._groups:
                break
            count += 1
        return max(count, 1)
