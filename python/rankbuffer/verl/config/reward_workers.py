"""How many reward workers a run needs.

A rollout that waits for its group holds a call of its reward worker, and Ray runs 1,000
calls of an actor at once. If more rollouts wait, some cannot reach their group, which
then waits for them until the deadline. Validation rollouts do not wait for others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .trainer_config import (
    at,
    fraction,
    is_asynchronous,
    is_colocated,
    is_v1,
    reward_workers,
    whole,
)

CALLS_PER_WORKER = 1000
"""How many calls of an async actor Ray runs at once by default."""


def rollouts_in_flight(config: Mapping[str, Any], n: int) -> int | None:
    """The most that wait at once, with n of each prompt; None if no batch size is set."""
    batch = whole(config, "data.train_batch_size", least=1, example=64)
    if batch is None:
        return None
    if not is_v1(config):
        # ray_trainer.py: a step generates one batch of its data loader, and waits for all of it.
        return n * (whole(config, "data.gen_batch_size", least=1, example=batch) or batch)
    if is_asynchronous(config):
        return n * (batch + _warmup(config, batch))
    return n * batch * _dapo_batches(config)


def _warmup(config: Mapping[str, Any], batch: int) -> int:
    """Prompts that an asynchronous trainer is ahead (trainer_base.py, _add_async_warmup_batches).

    A step adds a batch and takes one, evicted groups are replaced one by one: it stays so far.
    """
    if at(config, "skip.rollout_tq.enable"):
        return 0
    mode = at(config, "trainer.v1.trainer_mode")
    batches = fraction(config, f"trainer.v1.{mode}.num_warmup_batches", example=1)
    return math.floor(batches * batch)


def _dapo_batches(config: Mapping[str, Any]) -> int:
    """Batches that a synchronous trainer has in flight (replay_buffer.py, ReplayBuffer.sample).

    It refills what DAPO filters out while the rest still runs.
    """
    if not at(config, "algorithm.filter_groups.enable"):
        return 1
    path = "algorithm.filter_groups.max_inflight_gen_batches"
    return whole(config, path, least=1, example=1) or 1


def fits(waiting: int, workers: int) -> bool:
    """Whether each worker can run all its calls.

    Each rollout picks a worker at random, hence the margin of five standard deviations.
    """
    mean = waiting / workers
    margin = 0.0 if workers == 1 else 5 * math.sqrt(mean)
    return mean + margin <= CALLS_PER_WORKER


def enough_workers(waiting: int, least: int = 1) -> int:
    """The fewest reward workers, ``least`` or more, that these rollouts need."""
    return next(count for count in range(least, waiting + 2) if fits(waiting, count))


def too_few_workers(config: Mapping[str, Any], n: int) -> list[str]:
    """The problem with the override that solves it, or nothing."""
    waiting, workers = rollouts_in_flight(config, n), reward_workers(config)
    # The batch path makes one call a worker, however many rows it holds.
    if waiting is None or is_colocated(config) or fits(waiting, workers):
        return []
    enough = enough_workers(waiting, workers + 1)
    problem = (
        f"reward.num_workers is {workers}, but {waiting} rollouts can wait for their groups at "
        f"once and Ray runs {CALLS_PER_WORKER} calls a worker: "
    )
    return [problem + f"set reward.num_workers={enough}"]
