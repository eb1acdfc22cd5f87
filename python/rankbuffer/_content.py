"""The library's own rules for the rows of files, applied before any group is scored."""

from __future__ import annotations

from collections.abc import Sequence

from .config import ScorerConfig
from .errors import InputError
from .judges import SimulatedJudge
from .rows import QueryRow, located
from .scorer import check


def check_rows(rows: Sequence[tuple[str, int, QueryRow]]) -> None:
    """Checks queries that stand at a line of a file. InputError names file, line and field.

    It loads the library and asks no judge.
    """
    config = ScorerConfig(judge=SimulatedJudge(qualities={}))
    queries = ({"query_id": row.query_id, "query": "any"} | row.content() for _, _, row in rows)
    try:
        check(config, queries)
    except InputError as error:
        said = str(error).removeprefix(f"{error.field}: ")
        index, _, field = error.field.removeprefix("queries[").partition("]")
        path, line, _ = rows[int(index)]
        with located(path, line):
            raise InputError(said, field.removeprefix("."), code=error.code) from None
