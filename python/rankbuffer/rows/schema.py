"""The kinds of rows, and how a mapping becomes one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from numbers import Number
from typing import Any

from .._encode import number, text, texts
from .._group import WholeOptions, document
from ..errors import InputError
from ..types import Rubric
from .fields import Response, absent, check_known, items, responses, rubrics
from .prompt import Prompt, parse_prompt, query_id_of

_QUERY = ("query_id", "query", "rubrics", "ranked", "ranked_responses", "reference")
_SIDE = ("query_id", "rubrics", "ranked", "reference")
_OPTIONS = ("eligible", "format_scores", "epoch", "step", "update", "validate", "deadline_ms")
_GROUP = (*_QUERY, "responses", *_OPTIONS)
_REPLAY = (*_QUERY, "epochs")


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
    known = _QUERY if closed else None
    return QueryRow(**_query(row, known, ("query",), where=where, query=query))


def parse_group(row: Mapping[str, Any]) -> GroupRow:
    """A group row. Its ``query`` may be missing, `read_groups` says where it must not."""
    common = _query(row, _GROUP, ("query_id",))
    responses = texts(items(row.get("responses"), "responses"), "responses")
    if not responses:
        raise InputError("must be a list of at least 1 string", "responses")
    given = {name: row[name] for name in _OPTIONS if not absent(row.get(name))}
    for name in ("eligible", "format_scores"):
        if name in given and len(items(given[name], name)) != len(responses):
            said = f"must be a list of one value for each of the {len(responses)} responses"
            raise InputError(said, name)
    if "deadline_ms" in given:
        given["deadline"] = number(given.pop("deadline_ms"), "deadline_ms") / 1000
    document(common["query_id"], given, WholeOptions)  # an InputError for other types
    return GroupRow(**common, responses=responses, options=given)


def parse_replay(row: Mapping[str, Any]) -> ReplayRow:
    """A replay row."""
    ranked = ranked_name(row, "ranked_responses")
    common = _query(row, _REPLAY, ("query_id", "query", ranked, "epochs"))
    epochs = [
        responses(rollouts, f"epochs[{e}]")
        for e, rollouts in enumerate(items(row["epochs"], "epochs"))
    ]
    if not epochs:
        raise InputError("must hold at least 1 epoch", "epochs")
    for e, rollouts in enumerate(epochs):
        if not rollouts:
            raise InputError("must hold at least 1 response", f"epochs[{e}]")
    return ReplayRow(**common, epochs=epochs)


def parse_side(row: Mapping[str, Any]) -> QueryRow:
    """A row of a side file, which says more of a query that stands elsewhere."""
    return QueryRow(**_query(row, _SIDE, ("query_id",)))


def parse_query_id(value: Any, where: str = "query_id") -> str | None:
    """A query id, None if it is not given."""
    if absent(value) or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (str, Number)):
        raise InputError(f"must be a string or a number, got {type(value).__name__}", where)
    return str(value)


def ranked_name(row: Mapping[str, Any], otherwise: str = "ranked") -> str:
    """The name under which the row gives its ranked responses."""
    given = [name for name in ("ranked", "ranked_responses") if not absent(row.get(name))]
    return given[0] if given else otherwise


def _query(
    row: Mapping[str, Any],
    known: Collection[str] | None,
    required: Collection[str],
    *,
    where: str = "",
    query: Prompt | None = None,
) -> dict[str, Any]:
    """The fields of a QueryRow, once those that are required are there."""
    check_known(row, known, where)
    query_id = parse_query_id(row.get("query_id"), where + "query_id")
    if "query_id" in required and query_id is None:
        raise InputError("missing", where + "query_id", code="missing_field")
    for name in required:
        if row.get(name) is None and query is None:
            raise InputError("missing", where + name, code="missing_field")
    if query is None:
        given = row.get("query")
        empty = absent(given) or (isinstance(given, str) and not given)
        if not empty or "query" in required:
            query = parse_prompt("" if empty else given, where + "query")
        else:
            query = ""
    ranked = ranked_name(row)
    if ranked == "ranked" and not absent(row.get("ranked_responses")):
        raise InputError("give ranked or ranked_responses, not both", where + "ranked")
    reference = row.get("reference")
    if absent(reference) or reference == "":
        reference = None
    return {
        "query_id": query_id or query_id_of(query),
        "query": query,
        "rubrics": rubrics(row.get("rubrics"), where + "rubrics", closed=known is not None),
        "ranked": responses(row.get(ranked), where + ranked, closed=known is not None),
        "reference": None if reference is None else text(reference, where + "reference"),
    }
