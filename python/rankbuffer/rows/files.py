"""Files of rows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from .._encode import encode
from ..config import ScorerConfig
from ..errors import ConflictError, InputError
from ..judges import SimulatedJudge
from ..scorer import check
from .jsonl import read_jsonl
from .schema import GroupRow, QueryRow, ReplayRow, parse_group, parse_replay

T = TypeVar("T")
Q = TypeVar("Q", bound=QueryRow)


def read(
    path: str | os.PathLike[str], parse: Callable[[Mapping[str, Any]], T]
) -> Iterator[tuple[int, bytes, T]]:
    """The rows of a file of JSON lines, plain or gzipped, read by one of the functions above.

    Yields the line number (from 1), the line's bytes and the row. InputError
    names file, line and field, also if a string is no valid Unicode text.
    """
    for line, body, row in read_jsonl(path):
        with located(path, line):
            if rb"\ud" in body.lower():  # half of a pair of \ud8xx\udcxx escapes is no text
                encode(row)
            parsed = parse(row)
        yield line, body, parsed


def read_checked(
    path: str | os.PathLike[str], parse: Callable[[Mapping[str, Any]], Q]
) -> Iterator[tuple[int, bytes, Q]]:
    """`read` for rows that must also be in order by the library's rules for queries.

    Such a rule is that ranked responses differ. The rows are checked in batches,
    which takes half a minute for 100,000 rows.
    """
    rows = read(path, parse)
    while batch := list(itertools.islice(rows, 64)):
        # A query may come twice, so the library is given numbers for names.
        queries = [
            {"query": "any", **row.content(), "query_id": str(i), "reference": row.reference}
            for i, (_, _, row) in enumerate(batch)
        ]
        try:
            check(ScorerConfig(judge=SimulatedJudge(qualities={})), queries)
        except InputError as error:
            number, _, field = error.field.removeprefix("queries[").partition("].")
            with located(path, batch[int(number)][0]):
                said = str(error).removeprefix(f"{error.field}: ")
                raise InputError(said, field, code=error.code) from None
        yield from batch


def read_groups(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes, GroupRow]]:
    """The rows of a file of groups, as `read` gives them.

    InputError if the first group of a query does not say what the query is.
    """
    known: set[str] = set()
    for line, body, row in read(path, parse_group):
        if row.query_id not in known and not row.query:
            with located(path, line):
                said = f"missing; the first group of query {row.query_id!r} must have it"
                raise InputError(said, "query", code="missing_field")
        known.add(row.query_id)
        yield line, body, row
    if not known:
        raise InputError("holds no groups", file=str(path))


def read_replay(path: str | os.PathLike[str]) -> list[ReplayRow]:
    """The queries of a replay file in file order. A query id may stand there once."""
    found: dict[str, tuple[int, ReplayRow]] = {}
    for line, _body, row in read(path, parse_replay):
        first, _ = found.setdefault(row.query_id, (line, row))
        if first != line:
            with located(path, line):
                raise InputError(f"{row.query_id!r} was used on line {first}", "query_id")
    if not found:
        raise InputError("holds no queries", file=str(path))
    return [row for _, row in found.values()]


@contextmanager
def located(path: str | os.PathLike[str], line: int) -> Iterator[None]:
    """Adds the file and the line to an error about the input that is raised within."""
    try:
        yield
    except (InputError, ConflictError) as error:
        raised = InputError(str(error), file=os.fspath(path), line=line, code=error.code)
        raised.field, raised.summary = error.field, error.summary
        raise raised from None
