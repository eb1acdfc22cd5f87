"""A trainer's configuration against what the reward manager needs, before anything runs.

Every problem comes with the override that ends it.
"""

from __future__ import annotations

import math
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ConfigError
from ..judges import Judge, SimulatedJudge
from .settings import PREFIX, Settings

CALLS_PER_WORKER = 1000
"""How many calls of an async actor Ray runs at once; the others wait outside."""

_NEEDS_A_GROUP = {
    "rankbuffer", "scr", "tournament", "arena", "pairwise", "winrate", "listwise",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the manager reads from the trainer's configuration beside its own options."""

    settings: Settings
    group_size: int
    workers: int
    asynchronous: bool
    steps_in_rows: bool
    """V1 rows carry the step they belong to; V0 rows do not."""


def plan(config: Mapping[str, Any]) -> Plan:
    """The plan for a whole trainer configuration as plain mappings.

    ConfigError lists everything that is wrong, one problem a line.
    """
    given = _at(config, PREFIX)
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"{PREFIX}: missing; add +{PREFIX}.judge.base_url=http://HOST:PORT/v1 and "
            f"+{PREFIX}.judge.model=NAME (see `rankbuffer verl-config`)"
        )
    settings = Settings.from_mapping(given)
    problems = [problem for check in _CHECKS for problem in check(config, settings)]
    if problems:
        raise ConfigError("\n".join(problems))
    return Plan(
        settings=settings,
        group_size=settings.rendezvous.group_size or _rollout_n(config),
        workers=int(_at(config, "reward.num_workers") or 1),
        asynchronous=is_asynchronous(config),
        steps_in_rows=bool(_at(config, "trainer.use_v1")),
    )


def is_asynchronous(config: Mapping[str, Any]) -> bool:
    mode = _at(config, "trainer.v1.trainer_mode")
    return bool(_at(config, "trainer.use_v1")) and mode not in (None, "sync")


def _group_size(config: Mapping[str, Any], settings: Settings) -> list[str]:
    n = settings.rendezvous.group_size or _rollout_n(config)
    if n >= 2 or settings.scorer.method.name not in _NEEDS_A_GROUP:
        return []
    problem = f"actor_rollout_ref.rollout.n is {n}, so there is no group to rank: "
    return [problem + "set actor_rollout_ref.rollout.n=8"]


def _workers(config: Mapping[str, Any], settings: Settings) -> list[str]:
    """Each waiting rollout holds a call of its reward worker; more than Ray runs could starve.

    Rollouts pick their worker at random, hence the margin of five deviations.
    """
    workers = int(_at(config, "reward.num_workers") or 1)
    batch = _at(config, "data.train_batch_size")
    if batch is None:
        return []
    n = settings.rendezvous.group_size or _rollout_n(config)
    waiting = math.ceil(int(batch) * n * (1 + _warmup(config)))
    if fits(waiting, workers):
        return []
    enough = next(w for w in range(workers + 1, waiting + 2) if fits(waiting, w))
    problem = (
        f"reward.num_workers is {workers}, but {waiting} rollouts can wait for their groups at "
        f"once and Ray runs {CALLS_PER_WORKER} calls a worker: "
    )
    return [problem + f"set reward.num_workers={enough}"]


def fits(waiting: int, workers: int) -> bool:
    """Whether no worker will be asked for more calls than it can run."""
    mean = waiting / workers
    margin = 0.0 if workers == 1 else 5 * math.sqrt(mean)
    return mean + margin <= CALLS_PER_WORKER


def _warmup(config: Mapping[str, Any]) -> float:
    if not is_asynchronous(config):
        return 0.0
    mode = _at(config, "trainer.v1.trainer_mode")
    return float(_at(config, f"trainer.v1.{mode}.num_warmup_batches") or 0)


def _reward_model(config: Mapping[str, Any], settings: Settings) -> list[str]:
    if not _at(config, "reward.reward_model.enable"):
        return []
    if _at(config, "reward.custom_reward_function.path"):
        return []
    problem = "reward.reward_model.enable=True bypasses every reward manager: "
    return [problem + f"set reward.reward_model.enable=False; the judge is {PREFIX}.judge"]


def _remax(config: Mapping[str, Any], settings: Settings) -> list[str]:
    if str(_at(config, "algorithm.adv_estimator")).lower() != "remax":
        return []
    problem = "algorithm.adv_estimator=remax puts a greedy rollout into each group: "
    return [problem + "set algorithm.adv_estimator=grpo"]


def _async_save(config: Mapping[str, Any], settings: Settings) -> list[str]:
    if not _at(config, "actor_rollout_ref.actor.checkpoint.async_save"):
        return []
    if _at(config, "trainer.checkpoint_callback_class"):
        return []
    problem = "actor_rollout_ref.actor.checkpoint.async_save=True writes no tracker file: "
    return [problem + "set trainer.checkpoint_callback_class=rankbuffer.verl.CheckpointCallback"]


_CHECKS = (_group_size, _workers, _reward_model, _remax, _async_save)


def judge_answers(judge: Judge | SimulatedJudge, timeout: float = 10.0) -> list[str]:
    """Asks each endpoint for its models: problems of the network, or of the key."""
    if isinstance(judge, SimulatedJudge):
        return []
    urls = [judge.base_url] if isinstance(judge.base_url, str) else list(judge.base_url)
    options = judge.to_json()
    problems = []
    for url in urls:
        problem = _probe(url, options, timeout)
        if problem:
            problems.append(
                f"{PREFIX}.judge.base_url: {url}: {problem}; start the judge first, or set "
                f"{PREFIX}.judge.base_url=http://HOST:PORT/v1"
            )
    return problems


def _probe(url: str, options: Mapping[str, Any], timeout: float) -> str | None:
    headers = {"User-Agent": "rankbuffer", **(options.get("headers") or {})}
    if options.get("api_key"):
        headers["Authorization"] = f"Bearer {options['api_key']}"
    proxy = options.get("proxy")
    handler = urllib.request.ProxyHandler({"http": proxy, "https": proxy} if proxy else {})
    opener = urllib.request.build_opener(handler)
    try:
        request = urllib.request.Request(f"{url.rstrip('/')}/models", headers=headers)
        with opener.open(request, timeout=timeout):
            return None
    except urllib.error.HTTPError as error:
        if error.code in (401, 403):
            return f"refuses the key (HTTP {error.code}); set {PREFIX}.judge.api_key_env=NAME"
        return None  # it answers: not every server lists its models
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        return f"cannot be reached: {reason}"


def _rollout_n(config: Mapping[str, Any]) -> int:
    n = _at(config, "actor_rollout_ref.rollout.n")
    if n is None:
        raise ConfigError("actor_rollout_ref.rollout.n: missing; set actor_rollout_ref.rollout.n=8")
    return int(n)


def _at(config: Mapping[str, Any], path: str) -> Any:
    value: Any = config
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value
