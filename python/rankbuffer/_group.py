"""A query and a group as the library takes them: what was given, and no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, SupportsFloat, TypeAlias

from ._encode import (
    encode,
    flag,
    flags,
    integer,
    milliseconds,
    numbers,
    query,
    rubrics,
    text,
    texts,
    with_texts,
)
from .types import Query, Rubric

Rubrics: TypeAlias = "Iterable[Rubric | str | Mapping[str, Any]]"


def describe(
    query_id: str,
    query_: Query | None,
    rubrics_: Rubrics | None,
    ranked: Iterable[str] | None,
) -> dict[str, Any]:
    """The fields that say what a query is; those not given are left out."""
    fields: dict[str, Any] = {"query_id": text(query_id, "query_id")}
    if query_ is not None:
        fields["query"] = query(query_)
    if rubrics_ is not None:
        fields["rubrics"] = rubrics(rubrics_)
    if ranked is not None:
        fields["ranked"] = texts(ranked, "ranked")
    return fields


def group(
    query_id: str,
    responses: Iterable[str],
    query_: Query | None,
    rubrics_: Rubrics | None,
    ranked: Iterable[str] | None,
    reference: str | None,
    eligible: Iterable[bool] | None,
    format_scores: Iterable[SupportsFloat] | None,
    epoch: int | None,
    step: int | None,
    update: bool,
    validate: bool,
    deadline: float | None,
) -> bytes:
    """A whole group as JSON."""
    fields = describe(query_id, query_, rubrics_, ranked)
    answers = texts(responses, "responses")
    if eligible is not None:
        fields["eligible"] = flags(eligible, "eligible")
    if format_scores is not None:
        fields["format_scores"] = numbers(format_scores, "format_scores")
    fields |= terms(reference, epoch, step, update, validate, deadline)
    return with_texts(encode(fields), "responses", answers)


def terms(
    reference: str | None,
    epoch: int | None,
    step: int | None,
    update: bool,
    validate: bool,
    deadline: float | None,
) -> dict[str, Any]:
    """How a group is to be scored; what was not given is left out."""
    fields: dict[str, Any] = {
        "update": flag(update, "update"),
        "validate": flag(validate, "validate"),
    }
    if reference is not None:
        fields["reference"] = text(reference, "reference")
    if epoch is not None:
        fields["epoch"] = integer(epoch, "epoch")
    if step is not None:
        fields["step"] = integer(step, "step")
    if deadline is not None:
        fields["deadline_ms"] = milliseconds(deadline, "deadline")
    return fields
