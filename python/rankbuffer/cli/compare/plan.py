"""The groups of a comparison, their order, and how many of them are scored at once."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...judges import Judge, SimulatedJudge
from ...rows import ReplayRow, Response
from .budget import Budget

# Groups scored at once between two checkpoints. More would leave the judge idle
# less often while the last of them finish, but cost more when the run is killed.
_PIECE = 128


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The groups that every method gets, in the order of epochs, then queries."""

    queries: list[ReplayRow]
    epochs: int
    judge: Judge | SimulatedJudge
    seed: int
    budget: int | None
    """Judge tokens at which each method stops."""
    source: str
    """A checksum of the data, for the names of checkpoints."""
    max_failures: int
    """Groups that may fail in a row, see ``Streak``."""

    @property
    def groups(self) -> int:
        return self.epochs * len(self.queries)

    def group(self, number: int) -> tuple[int, ReplayRow]:
        """Epoch and query of a group by its place in the order."""
        epoch, place = divmod(number, len(self.queries))
        return epoch, self.queries[place]

    def description(self, query: ReplayRow) -> dict[str, Any]:
        """What each group of a query says of it; the best ranked response is the reference."""
        reference = query.reference or next(iter(query.texts()), None)
        return {**query.content(), "reference": reference}

    def rollouts(self, query: ReplayRow, epoch: int) -> list[Response]:
        """The group of an epoch, counted from 0; the epochs of the file repeat."""
        return query.epochs[epoch % len(query.epochs)]

    def size(self, number: int) -> int:
        """Bytes of the texts that a group's judge may have to read."""
        epoch, query = self.group(number)
        texts = [*query.ranked, *self.rollouts(query, epoch)]
        return len(str(query.query).encode()) + sum(len(t.text.encode()) for t in texts)

    def piece(self, done: int, budget: Budget | None) -> tuple[int, Sequence[ReplayRow]]:
        """Epoch and queries of the groups to score at once after the first ``done``.

        A piece ends at the same group however often the run was interrupted, and never
        holds two groups of one query. There are no queries when the run is complete.
        """
        if done == self.groups or (budget is not None and budget.reached):
            return 0, []
        epoch, first = divmod(done, len(self.queries))
        count = min(_PIECE - first % _PIECE, len(self.queries) - first)
        if budget is not None:
            count = budget.room(map(self.size, range(done, done + count)))
        return epoch, self.queries[first : first + count]

    def by_query(self, groups: int) -> Iterator[tuple[str, int]]:
        """Query and epoch of the first ``groups`` groups, by query, then epoch."""
        for place, query in enumerate(self.queries):
            for number in range(place, groups, len(self.queries)):
                yield query.query_id, number // len(self.queries)

    def qualities(self, query_id: str, epoch: int) -> list[float | None]:
        """Those of a group's responses; None where the file gives none."""
        return [response.quality for response in self.rollouts(self._by_id[query_id], epoch)]

    @functools.cached_property
    def _by_id(self) -> dict[str, ReplayRow]:
        return {query.query_id: query for query in self.queries}
