"""What verl is told about a rollout beside its reward: numbers under the same keys, always."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from ..types import GroupResult

STATUS = {
    "ok": 0,
    "empty": 1,
    "ineligible": 2,
    "judge_failed": 3,
    "timeout": 4,
    "truncated": 5,
    "cancelled": 6,
    # What only the trainer's side can meet.
    "rejected": 7,  # the row or its query is unusable; the log says why
    "late": 8,  # came after its group had been closed and scored
    "lost": 9,  # the owner of its query died while holding the group
    "error": 10,  # an error of ours; the log has the traceback
}
"""``rb_status``."""

GROUP_STATUS = {"ok": 0, "partial": 1, "failed": 2, "lost": 3}
"""``rb_group_status``. Only an ok group may have changed its query's buffer."""

NONE = -1.0
"""Stands for a position or a progress that there is none of: verl averages, so never NaN."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One rollout's reward and what to log of it. All fields are finite numbers."""

    reward: float = 0.0
    rank: float = NONE
    position: float = NONE
    progress: float = NONE
    status: int = 0
    group_status: int = 0
    anchors: float = 0.0
    calls: float = 0.0
    prompt_tokens: float = 0.0
    cached_tokens: float = 0.0
    completion_tokens: float = 0.0
    judge_s: float = 0.0
    group_std: float = 0.0

    def as_extra_info(self) -> dict[str, float]:
        """``reward_extra_info``: floats, so that columns never mix types."""
        return {f"rb_{name}": float(getattr(self, name)) for name in _KEYS}


_KEYS = tuple(f.name for f in fields(Verdict) if f.name != "reward")

KEYS = tuple(f"rb_{name}" for name in _KEYS)
"""The keys of ``reward_extra_info``."""


def failed(status: str, group_status: str = "failed") -> Verdict:
    """A rollout that could not be scored. All of a failed group get 0, hence no advantage."""
    return Verdict(status=STATUS[status], group_status=GROUP_STATUS[group_status])


LOST = failed("lost", "lost")
"""For the rollouts of a group that died with its owner."""


def verdicts(result: GroupResult, judge_s: float) -> list[Verdict]:
    """A group's result as one verdict for each response.

    Calls, tokens and seconds are each rollout's share of its group's, so that
    their sum over a batch is what the batch cost.
    """
    n = len(result.rewards)
    tokens = result.tokens
    shared = Verdict(
        group_status=GROUP_STATUS[result.group_status],
        anchors=result.anchors,
        calls=sum(result.calls.values()) / n,
        prompt_tokens=tokens.get("prompt", 0) / n,
        cached_tokens=tokens.get("cached", 0) / n,
        completion_tokens=tokens.get("completion", 0) / n,
        judge_s=judge_s / n,
        group_std=finite(result.reward_std),
    )
    return [
        replace(
            shared,
            reward=finite(result.rewards[i]),
            rank=result.ranks[i],
            position=_or_none(result.positions[i]),
            progress=_or_none(result.progress[i]),
            status=STATUS.get(result.status[i], STATUS["error"]),
        )
        for i in range(n)
    ]


def finite(value: Any) -> float:
    """A number that verl can average: it turns NaN rewards into NaN gradients without a word."""
    number = float(value)
    return number if math.isfinite(number) else 0.0


def _or_none(value: float | None) -> float:
    return NONE if value is None else float(value)
