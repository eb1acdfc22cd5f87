"""The reward of one rollout, and the numbers that verl logs with it."""

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
    # Only in verl:
    "rejected": 7,  # the row or its query cannot be used; the log says why
    "late": 8,  # came after its group had been scored
    "lost": 9,  # the owner of its query ended and could not be started again
    "error": 10,  # an error in this package; the log has the traceback
}
"""``rb_status``."""

GROUP_STATUS = {"ok": 0, "partial": 1, "failed": 2, "lost": 3}
"""``rb_group_status``. Only a group that is ok changes its query's buffer."""

NONE = -1.0
"""For a position or a progress that does not exist. verl averages, so it must not be NaN."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutReward:
    """One rollout's reward and its logged numbers. All fields are finite."""

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
        """verl's ``reward_extra_info``: always the same keys, always floats."""
        return {f"rb_{name}": float(getattr(self, name)) for name in _KEYS}


_KEYS = tuple(f.name for f in fields(RolloutReward) if f.name != "reward")

KEYS = tuple(f"rb_{name}" for name in _KEYS)
"""The keys of ``reward_extra_info``."""


def failed(status: str, group_status: str = "failed") -> RolloutReward:
    """For a rollout that could not be scored: 0 for all of a group, hence no advantage."""
    return RolloutReward(status=STATUS[status], group_status=GROUP_STATUS[group_status])


LOST = failed("lost", "lost")
"""For rollouts whose owner could not be started again."""


def rollout_rewards(result: GroupResult, judge_s: float) -> list[RolloutReward]:
    """The rewards of a group, one for each response.

    Calls, tokens and seconds are divided by the size of the group, so that their sum over
    a batch is what the batch cost.
    """
    n = len(result.rewards)
    tokens = result.tokens
    shared = RolloutReward(
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
    """0 in place of NaN or infinity, which verl would turn into NaN gradients without a warning."""
    number = float(value)
    return number if math.isfinite(number) else 0.0


def _or_none(value: float | None) -> float:
    return NONE if value is None else float(value)
