"""What goes in and what comes out, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, TypeAlias

from ._options import with_fields

Query: TypeAlias = str | Sequence[Mapping[str, Any]]
"""What the policy was asked: text, or chat messages ``{"role", "content"}``.

Messages are taken as trainers and chat APIs write them, with content in parts and
with tool calls.
"""

Status: TypeAlias = Literal[
    "ok", "empty", "ineligible", "judge_failed", "timeout", "truncated", "cancelled"
]
"""How one response ended."""

GroupStatus: TypeAlias = Literal["ok", "partial", "failed"]
"""How a group ended. Groups that are partial or failed change no buffer."""


@dataclass(frozen=True)
class Rubric:
    """One criterion of a query. ``weight`` says how much it counts and is above 0."""

    text: str
    weight: float = 1.0


@with_fields
@dataclass(frozen=True, kw_only=True)
class Anchor:
    """One response in a query's buffer, with which new responses are compared."""

    text: Annotated[str, "the response"]
    source: Annotated[
        str,
        "how it was added: ranked or bootstrap at the start, left or right beyond an end, "
        "refine between two anchors, llm by the manager",
    ]
    epoch: Annotated[int, "when it was added"]
    step: Annotated[int, "when it was added"]
    inactive: Annotated[int, "for how many epochs no response was placed beside it"]


@with_fields
@dataclass(frozen=True, kw_only=True)
class Buffer:
    """The buffer of one query."""

    query_id: Annotated[str, "the name of the query"]
    query: Annotated[str | list[dict[str, str]], "what the policy was asked"]
    rubrics: Annotated[list[Rubric], "those that were given"]
    initial: Annotated[int, "the number of anchors at the start"]
    epochs_seen: Annotated[list[int], "the epochs of its groups"]
    anchors: Annotated[list[Anchor], "worst first; none before the first group of some queries"]
    raw: Annotated[dict[str, Any], "the buffer as JSON"] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Buffer:
        return cls(
            query_id=raw["query_id"],
            query=raw["query"],
            rubrics=[Rubric(r["text"], weight=r["weight"]) for r in raw["rubrics"]],
            initial=raw["initial"],
            epochs_seen=raw["epochs_seen"],
            anchors=[Anchor(**{f.name: a[f.name] for f in fields(Anchor)}) for a in raw["anchors"]],
            raw=raw,
        )


@with_fields
@dataclass(frozen=True, kw_only=True)
class GroupResult:
    """The rewards of one group, and what they cost. Lists have the order of the responses.

    ``result["name"]`` reads any field of the result's JSON, ``raw``, including those that
    a newer library may add.
    """

    group_id: Annotated[str, "query_id/step/ordinal, which Scorer.update takes"]
    query_id: Annotated[str, "the name of the query"]
    method: Annotated[str, "the name of the method"]
    rewards: Annotated[list[float], "with the format reward; always finite"]
    advantages: Annotated[
        list[float], "(reward - mean) / (std + 1e-6); 0 when all rewards are equal"
    ]
    ranks: Annotated[list[float], "0 = worst; ties share the average rank"]
    positions: Annotated[
        list[int | None], "how many anchors the judge found worse; None where nothing says so"
    ]
    progress: Annotated[
        list[float | None], "share of the query's initial anchors that are worse, in 0..1"
    ]
    status: Annotated[list[Status], "how each response ended"]
    group_status: Annotated[GroupStatus, "how the group ended"]
    anchors_before: Annotated[int, "anchors in the buffer when the group was scored"]
    anchors: Annotated[int, "anchors in the buffer after the update"]
    calls: Annotated[dict[str, int], "judge calls by kind"]
    tokens: Annotated[
        dict[str, int], "prompt, completion, and cached: the part of prompt read from a cache"
    ]
    latency_ms: Annotated[float, "milliseconds from the call to the result"]
    reward_std: Annotated[float, "standard deviation of the rewards"]
    applied: Annotated[bool, "whether the group changed its query's buffer"] = False
    epoch: Annotated[int, "the epoch, given or counted"] = 0
    step: Annotated[int, "the step that was given"] = 0
    error: Annotated[
        str, "the first failure in full, if the group is not ok; it may quote the judge"
    ] = ""
    error_code: Annotated[str, "its code, one of the list in core/fault/README.md"] = ""
    error_summary: Annotated[str, "that failure in one sentence that is safe to log"] = ""
    detail: Annotated[
        dict[str, Any],
        "what only this method reports, such as scores per rubric. unjudged in it says why "
        "nothing was judged and every reward is 0 although each status is ok: a method that "
        "only compares was given one response or a validation group, or there is no buffer yet",
    ] = field(default_factory=dict)
    raw: Annotated[dict[str, Any], "the result as JSON"] = field(repr=False, compare=False)

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> GroupResult:
        values = {name: raw[name] for name in _RESULT_FIELDS if name in raw}
        # JSON writes 1.0 as 1. Integers among rewards would make an integer tensor.
        for name in ("rewards", "advantages", "ranks", "progress"):
            values[name] = [None if value is None else float(value) for value in values[name]]
        for name in ("latency_ms", "reward_std"):
            values[name] = float(values[name])
        return cls(raw=raw, **values)

    def __getitem__(self, name: str) -> Any:
        return self.raw[name]


_RESULT_FIELDS = frozenset(f.name for f in fields(GroupResult)) - {"raw"}
