"""Rows of queries to which rubrics are added: which need some, and what they become."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..._encode import encode
from ...errors import InputError
from ...rows import QueryRow, located, parse_query, ranked_name, read_jsonl


class Task(NamedTuple):
    """A query that the judge is to write rubrics for, and the line that describes it."""

    line: int
    query: QueryRow


@dataclass(frozen=True)
class Rows:
    """A file of rows after a first look, which found each of them in order."""

    path: Path
    checksum: str
    count: int
    tasks: dict[str, Task]
    """What is to be written, by query id."""
    given: dict[str, Any]
    """Rubrics that are in the file, by query id."""
    overwrite: bool

    def filled(self, written: Mapping[str, Any]) -> Iterator[str]:
        """The lines with rubrics added; rows that get none stay as they are, byte by byte."""
        known = {**self.given, **written}
        for _, body, row in read_jsonl(self.path):
            rubrics = None
            if row.get("query") and (self.overwrite or not row.get("rubrics")):
                rubrics = known.get(parse_query(row, closed=False).query_id)
            line = body.decode("utf-8") + "\n"
            yield line if rubrics is None else _line(_placed(row, rubrics))


def survey(path: Path, overwrite: bool) -> Rows:
    """Looks at every row before any call is paid for. InputError names file, line and field."""
    digest, count = hashlib.sha256(), 0
    tasks: dict[str, Task] = {}
    given: dict[str, Any] = {}
    for line, body, row in read_jsonl(path):
        digest.update(body + b"\n")
        count += 1
        if not row.get("query") and isinstance(row.get("responses"), list):
            continue  # a later group of a query that an earlier row described
        with located(path, line):
            query = parse_query(row, closed=False)
            if query.rubrics and not overwrite:
                given.setdefault(query.query_id, row["rubrics"])
            elif query.query_id not in tasks and query.query_id not in given:
                if not query.ranked:
                    said = "missing; rubrics are written from ranked responses, best first"
                    raise InputError(said, ranked_name(row), code="missing_field")
                encode({"query": query.query, "ranked": query.texts()})  # as it will be asked
                tasks[query.query_id] = Task(line, query)
    if not count:
        raise InputError("holds no queries", file=str(path))
    for query_id in given:
        tasks.pop(query_id, None)
    return Rows(path, digest.hexdigest(), count, tasks, given, overwrite)


def _line(row: dict[str, Any]) -> str:
    line = json.dumps(row, ensure_ascii=False) + "\n"
    try:
        line.encode()
    except UnicodeEncodeError:  # half a surrogate pair, somewhere in what is not ours
        return json.dumps(row) + "\n"
    return line


def _placed(row: Mapping[str, Any], rubrics: Any) -> dict[str, Any]:
    """The row with the rubrics, which come after its query if it had none."""
    out: dict[str, Any] = {}
    for name, value in row.items():
        out[name] = rubrics if name == "rubrics" else value
        if name == "query" and "rubrics" not in row:
            out["rubrics"] = rubrics
    return out
