"""What goes in and what comes out, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

Query: TypeAlias = str | Sequence[Mapping[str, str]]
"""What the policy was asked: text, or chat messages ``{"role", "content"}``."""

Status: TypeAlias = Literal[
    "ok", "empty", "ineligible", "judge_failed", "timeout", "truncated", "cancelled"
]
"""How one response ended."""

GroupStatus: TypeAlias = Literal["ok", "partial", "failed"]
"""How a group ended: partial and failed groups change no buffer."""


@dataclass(frozen=True)
class Rubric:
    """One criterion of a query and how much it counts, above 0."""

    text: str
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """One response on a query's quality scale.

    ``source`` is how it came there (``ranked``, ``bootstrap``, ``left``,
    ``right``, ``refine``, ``llm``), ``epoch`` and ``step`` when, and
    ``inactive`` for how many epochs no response landed next to it.
    """

    text: str
    source: str
    epoch: int
    step: int
    inactive: int


@dataclass(frozen=True, kw_only=True)
class Buffer:
    """One query's quality scale: its anchors, worst first.

    A query whose first group has not come yet has no anchors. ``initial`` is
    how many anchors the scale began with.
    """

    query_id: str
    query: str | list[dict[str, str]]
    rubrics: list[Rubric]
    initial: int
    epochs_seen: list[int]
    anchors: list[Anchor]
    raw: dict[str, Any] = field(repr=False, compare=False)
    """The same as JSON."""

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


@dataclass(frozen=True, kw_only=True)
class GroupResult:
    """The rewards of one group, and what they cost. Lists are parallel to the responses.

    ``result["name"]`` reads any field of the result's JSON, ``raw``, those
    included that a newer library may add.
    """

    group_id: str
    """``query_id/step/ordinal``; what ``Scorer.update`` takes."""
    query_id: str
    method: str
    rewards: list[float]
    """With the format reward; always finite."""
    advantages: list[float]
    """``(reward - mean) / (std + 1e-6)``; 0 when all rewards are equal."""
    ranks: list[float]
    """0 = worst; ties share the average rank."""
    positions: list[int | None]
    """How many anchors lie below; None where the method gives none."""
    progress: list[float | None]
    """Share of the query's initial anchors that lie below; can rise over training."""
    status: list[Status]
    group_status: GroupStatus
    anchors_before: int
    anchors: int
    """After the update."""
    calls: dict[str, int]
    """Judge requests by kind of call."""
    tokens: dict[str, int]
    """``prompt``, ``completion`` and ``cached`` (the part of prompt read from a prefix cache)."""
    latency_ms: float
    reward_std: float
    applied: bool = False
    """Whether the group changed its query's buffer."""
    epoch: int = 0
    step: int = 0
    error: str = ""
    """The first failure of a group that is not ok, in full. It may quote the judge."""
    error_code: str = ""
    """The kind of that failure, one of the list in core/fault/README.md."""
    error_summary: str = ""
    """That failure in one sentence that is safe to log."""
    detail: dict[str, Any] = field(default_factory=dict)
    """What only this method has to say: scores per rubric, the champion, ...

    ``detail["unjudged"]`` says why nothing was asked and every reward is 0 although
    the status is ok: validation, or a single response, of a query that has no
    scale yet or with a method that only compares.
    """
    raw: dict[str, Any] = field(repr=False, compare=False)
    """The result's JSON."""

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> GroupResult:
        values = {name: raw[name] for name in _RESULT_FIELDS if name in raw}
        # JSON writes 1.0 as 1, which a list of whole rewards would carry on as
        # integers, and a tensor made from it too.
        for name in ("rewards", "advantages", "ranks", "progress"):
            values[name] = [None if value is None else float(value) for value in values[name]]
        for name in ("latency_ms", "reward_std"):
            values[name] = float(values[name])
        return cls(raw=raw, **values)

    def __getitem__(self, name: str) -> Any:
        return self.raw[name]


_RESULT_FIELDS = frozenset(f.name for f in fields(GroupResult)) - {"raw"}
