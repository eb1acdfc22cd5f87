"""RankBuffer inside verl 0.9: group rewards by one config line, scales that survive a resume.

``reward.reward_manager.name=rankbuffer`` selects the reward manager (registered
through verl's plugin entry point), or ``source=importlib`` with
``module.path=pkg://rankbuffer.verl`` and ``name=RewardManager``. Options go under
``+reward.rankbuffer``; ``rankbuffer verl-config`` prints a ready set.

Nothing here imports verl before one of the names below is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .callback import CheckpointCallback as CheckpointCallback
    from .manager import RewardManager as RewardManager
    from .start import StartCheck as StartCheck

_HOMES = {"RewardManager": "manager", "CheckpointCallback": "callback", "StartCheck": "start"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
