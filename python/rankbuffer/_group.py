"""What a query and a group may come with, stated once: for the types, the help and the encoder."""

# Without postponed annotations, whose strings would have to be evaluated again.

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, SupportsFloat, TypeAlias, TypedDict

from ._encode import (
    encode,
    flag,
    flags,
    integer,
    milliseconds,
    number,
    numbers,
    query,
    rubrics,
    text,
    texts,
    with_texts,
)
from ._options import options
from .types import Query, Rubric

Rubrics: TypeAlias = Iterable[Rubric | str | Mapping[str, Any]]


@dataclass(frozen=True)
class Field:
    """How a field of a group is written as JSON."""

    write: Callable[[Any, str], Any]
    default: Any = None
    """None: the field is left out."""
    name: str = ""
    """In the JSON, if it is another there."""


class QueryOptions(TypedDict, total=False):
    """What the judge is told of a query."""

    query: Annotated[
        Query | None,
        "what the policy was asked, as text or as chat messages. Needed the first time that "
        "a query id is used, as are rubrics and ranked, unless create_buffer gave them",
        Field(query),
    ]
    rubrics: Annotated[
        Rubrics | None,
        "criteria of the query, each a Rubric, a text or {text, weight}",
        Field(rubrics),
    ]
    ranked: Annotated[
        Iterable[str] | None,
        "responses whose order is known, best first; anchors are made of them",
        Field(texts),
    ]


class GroupOptions(QueryOptions, total=False):
    """What any group may come with."""

    reference: Annotated[
        str | None, "the response that PRC compares with, no other method needs it", Field(text)
    ]
    epoch: Annotated[
        int | None, "from 0; by default the number of groups ranked for the query", Field(integer)
    ]
    step: Annotated[int | None, "the training step, from 0", Field(integer)]
    update: Annotated[
        bool,
        "whether the group may change its query's buffer. With False, Scorer.update can "
        "apply the change later",
        Field(flag, default=True),
    ]
    validate: Annotated[
        bool,
        "place each response on the buffer by itself and never change the buffer. If "
        'nothing was judged, result.detail["unjudged"] says why',
        Field(flag, default=False),
    ]
    deadline: Annotated[
        float | None,
        "seconds from now; responses not judged by then have the status timeout",
        Field(milliseconds, name="deadline_ms"),
    ]


class WholeOptions(GroupOptions, total=False):
    """What a group may come with whose responses are given at once."""

    eligible: Annotated[
        Iterable[bool] | None,
        "one bool a response; False: it is treated as an empty one",
        Field(flags),
    ]
    format_scores: Annotated[
        Iterable[SupportsFloat] | None,
        "one number in 0..1 a response, instead of the method's format_check",
        Field(numbers),
    ]


class OpenOptions(GroupOptions, total=False):
    """What a group may come with whose responses come one by one."""

    idempotency_key: Annotated[
        str | None,
        "at most 256 bytes; if a group with this key was applied to the query before, this "
        "one is scored and changes nothing",
        Field(text),
    ]
    after_checkpoint: Annotated[
        int | None,
        "number of the newest checkpoint saved when the group began, for restore_from",
        Field(integer),
    ]
    result_key: Annotated[
        str | None,
        "at most 512 bytes; the journal keeps the group's result under this key, and "
        "restore_from returns it",
        Field(text),
    ]


class ResponseOptions(TypedDict, total=False):
    """What a response of an open group may come with."""

    eligible: Annotated[bool | None, "False: it is treated as an empty one", Field(flag)]
    format_score: Annotated[
        SupportsFloat | None, "in 0..1, instead of the method's format_check", Field(number)
    ]


@cache
def _fields(kind: type) -> dict[str, Field]:
    return {name: option.metadata[0] for name, option in options(kind).items()}


def document(query_id: Any, given: Mapping[str, Any], kind: type = QueryOptions) -> dict[str, Any]:
    """A query or a group as the library takes it: what was given, and no more."""
    return {"query_id": text(query_id, "query_id")} | _written(given, kind)


def _written(given: Mapping[str, Any], kind: type, where: str = "") -> dict[str, Any]:
    known, out = _fields(kind), {}
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"unexpected keyword argument {name!r}, known are {', '.join(known)}")
        field = known[name]
        if value is not None or field.default is not None:
            out[field.name or name] = field.write(value, f"{where}{name}")
    return out


def response(value: str, given: Mapping[str, Any], where: str) -> bytes:
    """One response of an open group as JSON."""
    fields = {"text": text(value, where)} | _written(given, ResponseOptions, f"{where}.")
    return encode(fields, where)


def group(query_id: str, responses: Iterable[str], given: Mapping[str, Any]) -> bytes:
    """A whole group as JSON."""
    fields = document(query_id, given, WholeOptions)
    return with_texts(encode(fields), "responses", texts(responses, "responses"))
