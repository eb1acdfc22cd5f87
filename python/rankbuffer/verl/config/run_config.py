"""What the reward manager needs from a trainer's configuration, checked before anything runs.

Each problem names the override that solves it.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import ConfigError
from .reward_workers import rollouts_in_flight, too_few_workers
from .settings import PREFIX, Settings
from .trainer_config import at, is_asynchronous, is_colocated, is_v1, reward_workers, rollouts


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Our own options, and what the reward manager reads from verl's."""

    settings: Settings
    group_size: int
    workers: int
    asynchronous: bool
    steps_in_rows: bool
    """Whether rows carry their step, as those of the newer trainer (V1) do."""


def _refuse_misspelt(reward: Any) -> None:
    """ConfigError for ``reward.rankbufer``, which verl would ignore."""
    name = PREFIX.rpartition(".")[2]
    for given in reward if isinstance(reward, Mapping) else ():
        if given != name and difflib.get_close_matches(given, [name], 1, 0.8):
            raise ConfigError(f"unknown section; did you mean {PREFIX}?", f"reward.{given}")


def read_run_config(config: Mapping[str, Any]) -> RunConfig:
    """From a trainer's whole configuration as plain mappings.

    Raises ConfigError with every problem, one a line. What the configuration alone
    cannot tell is left to ``start_problems``.
    """
    _refuse_misspelt(at(config, "reward"))
    given = at(config, PREFIX)
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"{PREFIX}: missing; add +{PREFIX}.judge.base_url=http://HOST:PORT/v1 and "
            f"+{PREFIX}.judge.model=NAME (see `rankbuffer verl-config`)"
        )
    settings = Settings.from_mapping(given)
    problems = [problem for check in _CHECKS for problem in check(config, settings)]
    if problems:
        raise ConfigError("\n".join(problems))
    return RunConfig(
        settings=settings,
        group_size=rollouts(config),
        workers=reward_workers(config),
        asynchronous=is_asynchronous(config),
        steps_in_rows=is_v1(config),
    )


def _group_size(config: Mapping[str, Any], settings: Settings) -> list[str]:
    n, most = rollouts(config), settings.scorer.max_group_size
    problems = []
    if n < 2 and settings.scorer.method.needs_group:
        problems.append(
            f"actor_rollout_ref.rollout.n is {n}, and {settings.scorer.method.name} ranks groups "
            "of at least 2: set actor_rollout_ref.rollout.n=8"
        )
    if most is not None and most < n:
        problems.append(
            f"{PREFIX}.max_group_size is {most}, but actor_rollout_ref.rollout.n is {n}: "
            f"set +{PREFIX}.max_group_size={n}"
        )
    return problems


def _advantage(config: Mapping[str, Any], settings: Settings) -> list[str]:
    if settings.scorer.advantage == "grpo":
        return []
    problem = (
        f"{PREFIX}.advantage={settings.scorer.advantage} has no effect, since verl has its own: "
    )
    return [problem + "leave it out and set algorithm.norm_adv_by_std_in_grpo=False"]


def _workers(config: Mapping[str, Any], settings: Settings) -> list[str]:
    return too_few_workers(config, rollouts(config))


def _side_files(config: Mapping[str, Any], settings: Settings) -> list[str]:
    given = settings.side_file or ()
    paths = (given,) if isinstance(given, str) else given
    return [
        f"{PREFIX}.side_file: {path} cannot be read: set +{PREFIX}.side_file=FILE to what "
        "`rankbuffer prepare` wrote, on storage that all nodes share"
        for path in paths
        if not (Path(path).is_file() and os.access(path, os.R_OK))
    ]


def _reward_model(config: Mapping[str, Any], settings: Settings) -> list[str]:
    if not at(config, "reward.reward_model.enable"):
        return []
    if not at(config, "reward.custom_reward_function.path"):
        problem = "reward.reward_model.enable=True bypasses every reward manager: "
        return [problem + f"set reward.reward_model.enable=False; the judge is {PREFIX}.judge"]
    return _colocated(config, settings) if is_v1(config) and is_colocated(config) else []


_READ_S = 0.005
"""Seconds to read one row of a batch. 3 ms were measured for a response of 4,096 tokens."""


def _colocated(config: Mapping[str, Any], settings: Settings) -> list[str]:
    """Problems of the default trainer's batch path, whose rows are only a prompt and a response.

    Validation rows look the same (trainer_base.py, _validate and _compute_reward_colocate),
    and only its prompt names a group. The rows of a group are scattered over the batch, in
    the order in which rollouts ended, and must all be read within ``batch_wait_s``.
    """
    often = at(config, "trainer.test_freq")
    validates = at(config, "trainer.val_before_train") is not False
    validates = validates or (isinstance(often, int) and often > 0)
    alone = (
        "or give the reward model GPUs of its own, reward.reward_model.enable_resource_pool=True"
    )
    model = "reward.reward_model.enable=True without GPUs of its own: "
    problems = []
    if validates:
        problems.append(
            f"{model}validation rows look like training rows and would change the buffers: "
            f"set trainer.val_before_train=False trainer.test_freq=-1, {alone}"
        )
    if reward_workers(config) > 1:
        problems.append(
            f"{model}each group would be split between {reward_workers(config)} reward workers: "
            f"set reward.num_workers=1, {alone}"
        )
    seconds = math.ceil((rollouts_in_flight(config, rollouts(config)) or 0) * _READ_S)
    if settings.rendezvous.batch_wait_s < seconds:
        problems.append(
            f"{model}the rows of a group can be read {seconds} s apart in a batch of this size: "
            f"set +{PREFIX}.rendezvous.batch_wait_s={seconds}"
        )
    return problems


def _remax(config: Mapping[str, Any], settings: Settings) -> list[str]:
    if str(at(config, "algorithm.adv_estimator")).lower() != "remax":
        return []
    problem = "algorithm.adv_estimator=remax adds a greedy rollout to each group: "
    return [problem + "set algorithm.adv_estimator=grpo"]


def _async_save(config: Mapping[str, Any], settings: Settings) -> list[str]:
    if not at(config, "actor_rollout_ref.actor.checkpoint.async_save"):
        return []
    if at(config, "trainer.checkpoint_callback_class"):
        return []
    problem = "actor_rollout_ref.actor.checkpoint.async_save=True writes no tracker file: "
    return [problem + "set trainer.checkpoint_callback_class=rankbuffer.verl.CheckpointCallback"]


_CHECKS = (
    _group_size, _advantage, _workers, _side_files, _reward_model, _remax, _async_save,
)  # fmt: skip
