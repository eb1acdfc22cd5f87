"""The library's own rules for queries, applied without a judge."""

from __future__ import annotations

from contextlib import suppress

from .errors import ConflictError
from .judges import SimulatedJudge
from .rows import QueryRow
from .scorer import Scorer


class ContentCheck:
    """The library's own rules for a query, without a judge. Loads the library.

    For files, whose mistakes should be found before a group of the query is scored.
    """

    def __init__(self) -> None:
        self._scorer = Scorer(judge=SimulatedJudge(qualities={}))

    def check(self, row: QueryRow) -> None:
        """InputError names the field that cannot be used."""
        with suppress(ConflictError):  # two rows of one query are not this check's concern
            self._scorer.create_buffer(row.query_id, **({"query": "any"} | row.content()))

    def __enter__(self) -> ContentCheck:
        return self

    def __exit__(self, *exc: object) -> None:
        self._scorer.close()
