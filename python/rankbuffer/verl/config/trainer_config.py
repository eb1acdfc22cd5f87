"""Reads values of verl's own configuration, given as plain mappings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ConfigError


def at(config: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, or None."""
    value: Any = config
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def whole(config: Mapping[str, Any], path: str, *, least: int, example: int) -> int | None:
    """A whole number, or None if it is not set. ConfigError names a valid override."""
    value = at(config, path)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(
            f"{path}: {value!r} is not a whole number of at least {least}: set {path}={example}"
        )
    return value


def fraction(config: Mapping[str, Any], path: str, *, example: float) -> float:
    """A number of at least 0; 0 if it is not set."""
    value = at(config, path)
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e9:
        raise ConfigError(f"{path}: {value!r} is not a number of at least 0: set {path}={example}")
    return float(value)


def rollouts(config: Mapping[str, Any]) -> int:
    """The number of rollouts of each training prompt."""
    path = "actor_rollout_ref.rollout.n"
    n = whole(config, path, least=1, example=8)
    if n is None:
        raise ConfigError(f"{path}: missing; set {path}=8")
    return n


def reward_workers(config: Mapping[str, Any]) -> int:
    return whole(config, "reward.num_workers", least=1, example=1) or 1


def is_v1(config: Mapping[str, Any]) -> bool:
    return bool(at(config, "trainer.use_v1"))


def is_asynchronous(config: Mapping[str, Any]) -> bool:
    return is_v1(config) and at(config, "trainer.v1.trainer_mode") not in (None, "sync")


def is_colocated(config: Mapping[str, Any]) -> bool:
    """Whether verl asks for the rewards of a whole batch after all rollouts of a step.

    It does if a reward model shares the GPUs of the rollouts.
    """
    model = at(config, "reward.reward_model")
    return bool(at(config, "reward.reward_model.enable")) and not model.get("enable_resource_pool")
