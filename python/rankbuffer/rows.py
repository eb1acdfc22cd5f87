"""The rows of files, tables and training loops. Everything that reads one reads it here.

A **query row** says what a query is::

    {"query_id"?, "query", "rubrics"?, "ranked"?, "reference"?}

``query_id``
    A string or a number. A query without one is named after its content
    (`query_id_of`), which gives it the same name in every file, in verl, in TRL
    and in a loop of your own.
``query``
    What the policy was asked: a string, or chat messages as trainers have them
    (`parse_prompt`).
``rubrics``
    A list of strings or ``{"text", "weight"?}``, weights above 0, by default 1.
``ranked``
    A list of responses, best first. Each is a string or ``{"text", "quality"?,
    "model"?}``. ``quality`` is a number on any scale, higher is better; the
    simulated judge perceives it, and `rankbuffer compare` measures against it.
    ``ranked_responses`` is another name for the field; a row has one of the two.
``reference``
    A string: the response that method ``prc`` compares with.

A **group row** adds the responses that are scored together. Only the first group
of a query needs the query's other fields::

    {"query_id", ..., "responses": [strings], "eligible"?: [booleans],
     "format_scores"?: [numbers from 0 to 1], "epoch"?, "step"?,
     "update"?, "validate"?, "deadline_ms"?}

A **replay row** adds the rollouts of each epoch::

    {"query_id", "query", "ranked", "epochs": [[responses as in ranked]], ...}

Rows come from JSON, from Python objects or from parquet, so lists may be tuples or
numpy arrays, a list may also be the JSON text of one, and null, NaN and the empty
string mean that a field is not given. Every mistake is an InputError that names the
field, such as ``rubrics[0].weight``. `read` adds the file and the line.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ._encode import eligible, encode, flag, integer
from ._messages import Prompt, parse_prompt
from .errors import ConflictError, InputError
from .jsonl import read_jsonl
from .types import Query, Rubric

T = TypeVar("T")

_QUERY = ("query_id", "query", "rubrics", "ranked", "ranked_responses", "reference")
_OPTIONS = ("eligible", "format_scores", "epoch", "step", "update", "validate", "deadline_ms")
_GROUP = (*_QUERY, "responses", *_OPTIONS)
_REPLAY = (*_QUERY, "epochs")


@dataclass(frozen=True, kw_only=True)
class Response:
    """One response with what is known of it: its quality and the model that wrote it."""

    text: str
    quality: float | None = None
    model: str | None = None


@dataclass(frozen=True, kw_only=True)
class QueryRow:
    """One query. Lists are empty, and ``query`` is ``""``, where the row does not give them."""

    query_id: str
    query: Prompt = ""
    rubrics: list[Rubric] = field(default_factory=list)
    ranked: list[Response] = field(default_factory=list)
    reference: str | None = None

    def texts(self) -> list[str]:
        """The ranked responses as texts, best first."""
        return [response.text for response in self.ranked]

    def content(self) -> dict[str, Any]:
        """The query as arguments of `Scorer.create_buffer`, without what the row leaves out."""
        given = {"query": self.query, "rubrics": self.rubrics, "ranked": self.texts()}
        return {name: value for name, value in given.items() if value}

    def differs(self, other: QueryRow) -> str | None:
        """The first field that this row gives and in which the other has something else."""
        for name in ("query", "rubrics", "ranked", "reference"):
            mine = getattr(self, name)
            if mine and mine != getattr(other, name):
                return name
        return None


@dataclass(frozen=True, kw_only=True)
class GroupRow(QueryRow):
    """One group of responses. ``options`` are further arguments of `Scorer.score_group`."""

    responses: list[str]
    options: dict[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """The row as arguments of `Scorer.score_group`."""
        given: dict[str, Any] = {"query_id": self.query_id, "responses": self.responses}
        if self.reference is not None:
            given["reference"] = self.reference
        return given | self.content() | self.options


@dataclass(frozen=True, kw_only=True)
class ReplayRow(QueryRow):
    """One query with its rollouts: ``epochs[e]`` are those of epoch ``e``."""

    epochs: list[list[Response]]

    def responses(self) -> list[Response]:
        """Every response: the ranked ones, then those of the epochs."""
        return [*self.ranked, *(response for epoch in self.epochs for response in epoch)]


def parse_query(
    row: Mapping[str, Any],
    *,
    query: Prompt | None = None,
    where: str = "",
    closed: bool = True,
) -> QueryRow:
    """A query row.

    ``query``
        The query, where it does not stand in the row: a trainer's prompt.
    ``where``
        What the names of fields in errors begin with, such as ``"extra_info."``.
    ``closed``
        Whether a field of another name is an InputError. False for tables that
        others share, such as verl's ``extra_info``.
    """
    return QueryRow(**_query(row, _QUERY if closed else None, where=where, query=query))


def parse_group(row: Mapping[str, Any]) -> GroupRow:
    """A group row. Its ``query`` may be missing, `read_groups` says where it must not."""
    common = _query(row, _GROUP, optional="query")
    responses = [
        _text(value, f"responses[{i}]")
        for i, value in enumerate(_list(row.get("responses"), "responses"))
    ]
    if not responses:
        raise InputError("must be a list of at least 1 string", "responses")
    readers: dict[str, Callable[[Any, str], Any]] = {
        "eligible": lambda value, at: _each(value, at, len(responses), eligible),
        "format_scores": lambda value, at: _each(value, at, len(responses), _number),
        "epoch": integer,
        "step": integer,
        "update": flag,
        "validate": flag,
        "deadline_ms": _number,
    }
    given = {n: read(row[n], n) for n, read in readers.items() if not _absent(row.get(n))}
    if "deadline_ms" in given:
        given["deadline"] = given.pop("deadline_ms") / 1000
    return GroupRow(**common, responses=responses, options=given)


def parse_replay(row: Mapping[str, Any]) -> ReplayRow:
    """A replay row."""
    common = _query(row, _REPLAY, optional="")
    if not ("ranked" in row or "ranked_responses" in row):
        raise InputError("missing", "ranked_responses", code="missing_field")
    if "epochs" not in row:
        raise InputError("missing", "epochs", code="missing_field")
    epochs = [
        _responses(rollouts, f"epochs[{e}]")
        for e, rollouts in enumerate(_list(row["epochs"], "epochs"))
    ]
    if not epochs:
        raise InputError("must hold at least 1 epoch", "epochs")
    for e, rollouts in enumerate(epochs):
        if not rollouts:
            raise InputError("must hold at least 1 response", f"epochs[{e}]")
    return ReplayRow(**common, epochs=epochs)


def parse_side(row: Mapping[str, Any]) -> QueryRow:
    """A row of a side file, which says more of a query that stands elsewhere."""
    return QueryRow(**_query(row, ("query_id", "rubrics", "ranked", "reference"), optional="query"))


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


def read_groups(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes, GroupRow]]:
    """The rows of a file of groups, as `read` gives them.

    InputError if the first group of a query does not say what the query is.
    """
    known: set[str] = set()
    for line, body, row in read(path, parse_group):
        if row.query_id not in known and not row.query:
            with located(path, line):
                said = f"missing, this is the first group of query {row.query_id!r}"
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
        raised.field = error.field
        raise raised from None


def query_id_of(query: Query) -> str:
    """The name of a query that has none: the hash of its content."""
    return f"query-{query_hash(query)}"


def query_hash(query: Query) -> str:
    """24 hexadecimal digits."""
    text = json.dumps(query, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]


def parse_query_id(value: Any, where: str = "query_id") -> str | None:
    """A query id, None if it is not given."""
    if _absent(value) or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InputError(f"must be a string, got {type(value).__name__}", where)
    return str(value)


def _query(
    row: Mapping[str, Any],
    known: Collection[str] | None,
    *,
    where: str = "",
    query: Prompt | None = None,
    optional: str = "query_id",
) -> dict[str, Any]:
    """The fields of a QueryRow, of which one may be optional: its id or its query."""
    _known(row, known, where)
    query_id = parse_query_id(row.get("query_id"), where + "query_id")
    if query_id is None and optional != "query_id":
        raise InputError("missing", where + "query_id", code="missing_field")
    if query is None:
        given = row.get("query")
        if optional != "query" and given is None:
            raise InputError("missing", where + "query", code="missing_field")
        left_out = optional == "query" and not given
        query = "" if left_out else parse_prompt(given, where + "query")
    ranked = "ranked_responses" if "ranked_responses" in row else "ranked"
    if ranked == "ranked_responses" and "ranked" in row:
        raise InputError("give ranked or ranked_responses, not both", where + "ranked")
    reference = "" if _absent(row.get("reference")) else row["reference"]
    return {
        "query_id": query_id or query_id_of(query),
        "query": query,
        "rubrics": _rubrics(row.get("rubrics"), where + "rubrics"),
        "ranked": _responses(row.get(ranked), where + ranked),
        "reference": None
        if _absent(reference) or reference == ""
        else _text(reference, where + "reference"),
    }


def _rubrics(values: Any, where: str) -> list[Rubric]:
    out = []
    for i, value in enumerate(_list(values, where)):
        given = _fields(value, f"{where}[{i}]", ("text", "weight"))
        weight = _number(given.get("weight", 1), f"{where}[{i}].weight")
        if weight <= 0:
            raise InputError(f"{weight} is not above 0", f"{where}[{i}].weight")
        out.append(Rubric(given["text"], weight=weight))
    return out


def _responses(values: Any, where: str) -> list[Response]:
    out = []
    for i, value in enumerate(_list(values, where)):
        given = _fields(value, f"{where}[{i}]", ("text", "quality", "model"))
        if "quality" in given:
            given["quality"] = _number(given["quality"], f"{where}[{i}].quality")
        if "model" in given:
            given["model"] = _text(given["model"], f"{where}[{i}].model")
        out.append(Response(**given))
    return out


def _fields(value: Any, where: str, names: tuple[str, ...]) -> dict[str, Any]:
    """An item of a list: an object with a text, or the text alone."""
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, (Rubric, Response)):
        value = vars(value)
    if not isinstance(value, Mapping):
        optional = ", ".join(f'"{name}"?' for name in names[1:])
        raise InputError(f'must be a string or {{"text", {optional}}}, got {_kind(value)}', where)
    # Parquet has every field of a struct in every row, with null for none.
    given = {name: item for name, item in value.items() if not _absent(item)}
    _known(given, names, where + ".")
    if value.get("text") is None:
        raise InputError("missing", where + ".text", code="missing_field")
    return given | {"text": _text(value["text"], where + ".text")}


def _known(row: Mapping[str, Any], names: Collection[str] | None, where: str) -> None:
    for name in row:
        if names is not None and name not in names:
            said = f"unknown field; known fields are {', '.join(names)}"
            if name == "responses":
                said += "; this is a file of groups, which `rankbuffer score` reads"
            elif name == "epochs":
                said += "; this is a replay file, which `rankbuffer compare` reads"
            elif close := difflib.get_close_matches(name, names, 1):
                said += f"; did you mean {close[0]!r}?"
            raise InputError(said, f"{where}{name}", code="unknown_field")


def _absent(value: Any) -> bool:
    """Whether a field is not given, in the words of JSON and of tables."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _list(values: Any, where: str) -> list[Any]:
    if _absent(values) or (isinstance(values, str) and not values.strip()):
        return []
    said = "must be a list"
    if isinstance(values, str):
        try:
            values = json.loads(values)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{said}, or the JSON text of one: {error}", where) from None
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise InputError(f"{said}, got {_kind(values)}", where)
    return list(values)


def _each(values: Any, where: str, count: int, read: Callable[[Any, str], T]) -> list[T]:
    given = _list(values, where)
    if len(given) != count:
        said = f"must be a list of one value for each of the {count} responses"
        raise InputError(f"{said}, got {len(given)}", where)
    return [read(value, f"{where}[{i}]") for i, value in enumerate(given)]


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"must be a string, got {_kind(value)}", where)
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, (bool, str, bytes)) or not hasattr(value, "__float__"):
        raise InputError(f"must be a number, got {_kind(value)}", where)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"must be a finite number, got {number}", where)
    return number


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__
