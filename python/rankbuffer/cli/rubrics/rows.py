"""Rows of queries to which rubrics are added: which need some, and what they become."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._encode import encode
from ..._encode import query as check_query
from ..._group import document
from ...errors import InputError
from ...jsonl import read_jsonl
from ...types import Query


@dataclass(frozen=True)
class Task:
    """A query that rubrics are to be written for."""

    path: Path
    line: int
    query_id: str
    query: Query
    ranked: list[str]

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class Rows:
    """A file of rows after a first look, which found each of them in order."""

    path: Path
    checksum: str
    count: int
    tasks: dict[str, Task]
    """What is to be written, by the name of the query."""
    given: dict[str, Any]
    """Rubrics that are there, by the name of the query."""
    overwrite: bool

    def filled(self, written: Mapping[str, Any]) -> Iterator[str]:
        """The lines with rubrics added; those that get none stay as they are, byte by byte."""
        for line, body, row in read_jsonl(self.path):
            name = _name(line, row)
            rubrics = written.get(name, self.given.get(name))
            has_some = row.get("rubrics") and not self.overwrite
            if rubrics is None or has_some or not row.get("query"):
                yield body.decode("utf-8") + "\n"
            else:
                yield _line(_placed(row, rubrics))


def survey(path: Path, overwrite: bool) -> Rows:
    """Looks at every row before any call is paid for. InputError names file, line and field."""
    digest, count = hashlib.sha256(), 0
    tasks: dict[str, Task] = {}
    given: dict[str, Any] = {}
    for line, body, row in read_jsonl(path):
        digest.update(body + b"\n")
        count += 1
        name = _name(line, row)
        if complaint := _complaint(row):
            raise InputError(f"{path}:{line}: {complaint}")
        if not row.get("query"):  # a later group of a query that an earlier row described
            continue
        if row.get("rubrics") and not overwrite:
            given.setdefault(name, row["rubrics"])
        elif name not in tasks and name not in given:
            try:
                task = Task(path, line, name, check_query(row["query"]), _ranked(row))
                encode(
                    document(name, {"query": task.query, "ranked": task.ranked})
                )  # as it will be asked
                tasks[name] = task
            except InputError as error:
                raise InputError(f"{path}:{line}: {error}") from None
    if not count:
        raise InputError(f"{path}: holds no queries")
    for name in given:
        tasks.pop(name, None)
    return Rows(path, digest.hexdigest(), count, tasks, given, overwrite)


def _name(line: int, row: Mapping[str, Any]) -> str:
    """The id of the row's query, by which rows of one query are told to belong together."""
    query_id = row.get("query_id")
    return query_id if isinstance(query_id, str) and query_id else f"line {line}"


def _complaint(row: Mapping[str, Any]) -> str | None:
    if not row.get("query") and not isinstance(row.get("responses"), list):
        return "query: missing"
    if not isinstance(row.get("rubrics", []), list):
        return "rubrics: must be a list"
    return None


def _ranked(row: Mapping[str, Any]) -> list[str]:
    """The row's ranked responses, best first: texts, or a replay file's objects with a text."""
    name = "ranked_responses" if "ranked_responses" in row else "ranked"
    values = row.get(name)
    if not isinstance(values, list) or not values:
        raise InputError(f"{name}: missing; rubrics are written from ranked responses, best first")
    out = []
    for i, value in enumerate(values):
        text = value.get("text") if isinstance(value, dict) else value
        if not isinstance(text, str):
            raise InputError(f"{name}[{i}]: must be a text")
        out.append(text)
    return out


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
