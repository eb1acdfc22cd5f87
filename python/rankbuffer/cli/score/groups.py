"""Files of groups, looked through before the first judge call is paid for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...jsonl import read_jsonl, surrogate
from ...replay import SAMPLE, hint

SAMPLE_GROUPS = SAMPLE.with_name("groups.jsonl")
"""The rollouts of the sample as groups, by epoch; for `score sample`."""

_FIELDS = {
    "query_id",
    "query",
    "rubrics",
    "ranked",
    "reference",
    "responses",
    "eligible",
    "format_scores",
    "epoch",
    "step",
    "update",
    "validate",
    "deadline_ms",
}


def find_groups(name: str) -> Path:
    """The path, but for the name ``sample``, which is the sample unless such a file exists."""
    path = Path(name)
    return SAMPLE_GROUPS if name == "sample" and not path.exists() else path


class Digest:
    """A checksum over the rows read so far."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, body: bytes) -> None:
        self._hash.update(body + b"\n")

    def text(self) -> str:
        return self._hash.hexdigest()[:16]


@dataclass(frozen=True)
class Survey:
    """What a first pass over the groups found."""

    rows: int
    prefix: str
    """Checksum of the rows that were asked for, the first ones."""


def survey(path: Path, prefix: int) -> Survey:
    """Checks the shape of every row and counts them. InputError names file, line and field.

    The library checks values; this pass finds what would otherwise end a run
    after hours of judging.
    """
    known: set[str] = set()
    digest, mark, rows = Digest(), "", 0
    for line, body, row in read_jsonl(path):
        if rows == prefix:
            mark = digest.text()
        digest.add(body)
        rows += 1
        if complaint := _complaint(row, known) or surrogate(body, row):
            raise InputError(f"{path}:{line}: {complaint}")
        known.add(row["query_id"])
    if not rows:
        raise InputError(f"{path}: holds no groups")
    return Survey(rows, digest.text() if rows <= prefix else mark)


def _complaint(row: Mapping[str, Any], known: set[str]) -> str | None:
    for name in row:
        if name not in _FIELDS:
            known_ones = f"{name}: unknown field, known are {', '.join(sorted(_FIELDS))}"
            return known_ones + hint(row, name)
    query_id, responses = row.get("query_id"), row.get("responses")
    if not isinstance(query_id, str) or not query_id:
        return "query_id: must be a text that is not empty"
    if query_id not in known and not row.get("query"):
        return f"query: missing, this is the first group of query {query_id!r}"
    if not isinstance(responses, list) or not responses:
        return "responses: must be a list of at least 1 text"
    for i, response in enumerate(responses):
        if not isinstance(response, str):
            return f"responses[{i}]: must be a text"
    for name in ("eligible", "format_scores"):
        values = row.get(name)
        if values is not None and (not isinstance(values, list) or len(values) != len(responses)):
            return f"{name}: must be a list of one value for each of the {len(responses)} responses"
    return None


def arguments(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as arguments of ``Scorer.score_group``."""
    given = dict(row)
    if (deadline := given.pop("deadline_ms", None)) is not None:
        if isinstance(deadline, bool) or not isinstance(deadline, (int, float)):
            raise InputError("deadline_ms: must be a number")
        given["deadline"] = deadline / 1000
    return given
