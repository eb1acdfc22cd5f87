"""Prints the overrides that select our reward manager, and checks a whole configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import ConfigError
from .config_file import PREFIX, read_yaml
from .reward_workers import enough_workers
from .run_config import RunConfig, read_run_config
from .start_check import start_problems


def overrides(
    *,
    base_url: str,
    model: str,
    method: str = "rankbuffer",
    options: Mapping[str, Any] | None = None,
    batch: int = 64,
    n: int = 8,
    importlib: bool = False,
    api_key_env: str | None = None,
    side_files: Sequence[str] = (),
    v0: bool = False,
) -> list[str]:
    """The overrides for the command line of ``verl.trainer.main_ppo``.

    ``v0``: for the older trainer, which has no checkpoint callback.
    """
    lines = [
        f"actor_rollout_ref.rollout.n={n}",
        f"data.train_batch_size={batch}",
        f"reward.num_workers={enough_workers(batch * n)}",
    ]
    if importlib:
        lines += [
            "reward.reward_manager.source=importlib",
            "reward.reward_manager.module.path=pkg://rankbuffer.verl",
            "reward.reward_manager.name=RewardManager",
        ]
    else:
        lines += ["reward.reward_manager.source=register", "reward.reward_manager.name=rankbuffer"]
    lines.append(f"+{PREFIX}.method.name={method}")
    for name, value in (options or {}).items():
        lines.append(f"+{PREFIX}.method.{name}={_value(value)}")
    lines += [f"+{PREFIX}.judge.base_url={base_url}", f"+{PREFIX}.judge.model={_value(model)}"]
    if api_key_env is not None:
        lines.append(f"+{PREFIX}.judge.api_key_env={api_key_env}")
    if side_files:
        paths = [_value(path) for path in side_files]
        lines.append(f"+{PREFIX}.side_file={paths[0] if len(paths) == 1 else _list(paths)}")
    if v0:
        lines.append("trainer.use_v1=False")
        lines.append("+hydra.callbacks.rankbuffer._target_=rankbuffer.verl.StartCheck")
    else:
        lines.append("trainer.checkpoint_callback_class=rankbuffer.verl.CheckpointCallback")
    return lines


def check(config_file: str | None, given: Sequence[str], probe: bool = True) -> RunConfig:
    """Checks a configuration: a YAML file, or verl's defaults with overrides.

    Raises ConfigError with every problem.
    """
    return verify(read_yaml(config_file) if config_file is not None else _compose(given), probe)


def verify(config: Mapping[str, Any], probe: bool = True) -> RunConfig:
    """Checks a whole configuration that is to use our reward manager."""
    manager = (config.get("reward") or {}).get("reward_manager") or {}
    name, source = manager.get("name"), manager.get("source", "register")
    wanted = {"register": "rankbuffer", "importlib": "RewardManager"}
    if name != wanted.get(str(source)):
        raise ConfigError(
            f"reward.reward_manager.name is {name!r} with source {source!r}: "
            "set reward.reward_manager.name=rankbuffer"
        )
    found = read_run_config(config)
    problems = start_problems(found.settings) if probe else []
    if problems:
        raise ConfigError("\n".join(problems))
    return found


def _compose(given: Sequence[str]) -> dict[str, Any]:
    try:
        from hydra import compose, initialize_config_module
        from omegaconf import OmegaConf
        from verl.experimental.reward_loop import migrate_legacy_reward_impl
    except ImportError as error:
        raise ConfigError(
            f"checking overrides needs verl ({error}); give a whole config with --config FILE.yaml"
        ) from None
    try:
        with initialize_config_module("verl.trainer.config", version_base=None):
            composed = migrate_legacy_reward_impl(compose("ppo_trainer", overrides=list(given)))
        plain = OmegaConf.to_container(composed, resolve=True)
    except Exception as error:  # hydra's and omegaconf's errors have no common base
        raise ConfigError(f"verl's configuration: {error}") from None
    assert isinstance(plain, dict)
    return {str(name): value for name, value in plain.items()}


def _list(values: Sequence[str]) -> str:
    return f"[{','.join(values)}]"


def _value(value: Any) -> str:
    """A value in hydra's grammar: quoted if it is not a plain word."""
    text = value if isinstance(value, str) else json.dumps(value)
    plain = all(c.isalnum() or c in "_-./:" for c in text)
    if plain or not isinstance(value, str):
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
