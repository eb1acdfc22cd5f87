"""RankBuffer inside verl 0.9: group rewards from a judge, and buffers that survive a resume.

``reward.reward_manager.name=rankbuffer`` selects the reward manager (registered
through verl's plugin entry point), or ``source=importlib`` with
``module.path=pkg://rankbuffer.verl`` and ``name=RewardManager``. Options go under
``+reward.rankbuffer``; ``rankbuffer verl-config`` prints a ready set.

verl is imported only when one of the names below is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checkpoint_callback import CheckpointCallback as CheckpointCallback
    from .hydra_callback import StartCheck as StartCheck
    from .manager import RewardManager as RewardManager

_MODULES = {
    "RewardManager": "manager",
    "CheckpointCallback": "checkpoint_callback",
    "StartCheck": "hydra_callback",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
