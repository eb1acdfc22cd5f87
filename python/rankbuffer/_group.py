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
    numbers,
    query,
    rubrics,
    text,
    texts,
    with_texts,
)
from ._options import About, options
from .types import Query, Rubric

Rubrics: TypeAlias = Iterable[Rubric | str | Mapping[str, Any]]


@dataclass(frozen=True)
class Field(About):
    """A field of a group's JSON: what it means, and how it is written."""

    write: Callable[[Any, str], Any] = text
    default: Any = None
    """None: the field is left out."""
    name: str = ""
    """In the JSON, if it is another there."""


class QueryOptions(TypedDict, total=False):
    """What the judge is told of a query."""

    query: Annotated[
        Query | None,
        Field(
            "what the policy was asked, as text or as chat messages. Needed the first time that "
            "a query id is used, as are rubrics and ranked, unless create_buffer gave them",
            write=query,
        ),
    ]
    rubrics: Annotated[
        Rubrics | None,
        Field("criteria of the query, each a Rubric, a text or {text, weight}", write=rubrics),
    ]
    ranked: Annotated[
        Iterable[str] | None,
        Field("responses whose order is known, best first; anchors are made of them", write=texts),
    ]


class GroupOptions(QueryOptions, total=False):
    """What any group may come with."""

    reference: Annotated[
        str | None, Field("the response that PRC compares with, no other method needs it")
    ]
    epoch: Annotated[
        int | None,
        Field("from 0; by default the number of groups ranked for the query", write=integer),
    ]
    step: Annotated[int | None, Field("the training step, from 0", write=integer)]
    update: Annotated[
        bool,
        Field(
            "whether the group may change its query's buffer. With False, Scorer.update can "
            "apply the change later",
            write=flag,
            default=True,
        ),
    ]
    validate: Annotated[
        bool,
        Field(
            "place each response on the buffer by itself and never change the buffer. If "
            'nothing was judged, result.detail["unjudged"] says why',
            write=flag,
            default=False,
        ),
    ]
    deadline: Annotated[
        float | None,
        Field(
            "seconds from now; responses not judged by then have the status timeout",
            write=milliseconds,
            name="deadline_ms",
        ),
    ]


class WholeOptions(GroupOptions, total=False):
    """What a group may come with whose responses are given at once."""

    eligible: Annotated[
        Iterable[bool] | None,
        Field("one bool a response; False: it is treated as an empty one", write=flags),
    ]
    format_scores: Annotated[
        Iterable[SupportsFloat] | None,
        Field("one number in 0..1 a response, instead of the method's format_check", write=numbers),
    ]


class OpenOptions(GroupOptions, total=False):
    """What a group may come with whose responses come one by one."""

    idempotency_key: Annotated[
        str | None,
        Field(
            "at most 256 bytes; if a group with this key was applied to the query before, this "
            "one is scored and changes nothing",
            name="tag",
        ),
    ]
    after_checkpoint: Annotated[
        int | None,
        Field(
            "number of the newest checkpoint saved when the group began, for restore_from",
            write=integer,
            name="mark",
        ),
    ]
    result_key: Annotated[
        str | None,
        Field(
            "at most 512 bytes; the journal keeps the group's result under this key, and "
            "restore_from returns it",
            name="label",
        ),
    ]


@cache
def _fields(kind: type) -> dict[str, Field]:
    return {name: option.about for name, option in options(kind).items()}  # type: ignore[misc]


def document(query_id: str, given: Mapping[str, Any], kind: type = QueryOptions) -> dict[str, Any]:
    """A query or a group as the library takes it: what was given, and no more."""
    out: dict[str, Any] = {"query_id": text(query_id, "query_id")}
    known = _fields(kind)
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"unexpected keyword argument {name!r}, known are {', '.join(known)}")
        field = known[name]
        if value is not None or field.default is not None:
            out[field.name or name] = field.write(value, name)
    return out


def group(query_id: str, responses: Iterable[str], given: Mapping[str, Any]) -> bytes:
    """A whole group as JSON."""
    fields = document(query_id, given, WholeOptions)
    return with_texts(encode(fields), "responses", texts(responses, "responses"))
