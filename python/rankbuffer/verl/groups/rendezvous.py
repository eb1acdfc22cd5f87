"""Brings the rollouts of one uid together and gives them to the scorer as they come.

verl asks for the reward of one trajectory at a time. A group opens with its first
rollout. It ends with its last, or when none came for ``deadline_s``. Then every rollout
gets its reward. This module needs neither verl nor Ray.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import JudgeError, RankBufferError
from ...scorer import Scorer
from ...types import GroupResult
from ..config.settings import RendezvousSettings
from ..rollout_reward import RolloutReward, failed, rollout_rewards
from ..rollouts.rows import Key, Rollout
from .group import EndedGroup, RolloutGroup, find

log = logging.getLogger(__name__)

REMEMBERED = 1024
"""How many ended groups are kept for rollouts that come again, such as padding of a batch."""


class Rendezvous:
    """All groups of one owner. Its methods run on one event loop."""

    def __init__(
        self,
        scorer: Scorer,
        settings: RendezvousSettings,
        group_size: int,
        group_fields: Callable[[Rollout], dict[str, Any]] = lambda rollout: {},
        *,
        padded: bool = True,
    ) -> None:
        """``group_fields`` gives further arguments of ``Scorer.open_group`` for a group.

        ``padded``: rows may be repeated, as verl's batch path does for several workers.
        """
        self._scorer = scorer
        self._settings = settings
        self._size = group_size
        self._group_fields = group_fields
        self._padded = padded
        self._open: dict[Key, RolloutGroup] = {}
        self._tasks: dict[Key, asyncio.Task[EndedGroup]] = {}  # of the open groups
        self._ended: OrderedDict[Key, EndedGroup] = OrderedDict()
        self._validating = 0

    async def score(self, rollout: Rollout) -> RolloutReward:
        """The rollout's reward, once its group has ended. Raises nothing but CancelledError."""
        try:
            if rollout.validate and rollout.failure:
                return failed(rollout.failure)
            if rollout.validate:
                return await self._validate(rollout)
            return await self._train(rollout)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("rankbuffer: scoring a rollout of uid %s failed", rollout.uid)
            return failed("error")

    def remember(self, ended: Mapping[Key, EndedGroup]) -> None:
        """Keeps groups that have ended, newest last."""
        self._ended.update(ended)
        while len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

    @property
    def busy(self) -> int:
        """Groups and validation rollouts in flight."""
        return len(self._open) + self._validating

    async def drain(self) -> None:
        """Ends every open group with what came."""
        for group in self._open.values():
            group.full.set()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    # Validation: each response is placed in its query's buffer and never changes it.

    async def _validate(self, rollout: Rollout) -> RolloutReward:
        query = rollout.query
        started = time.monotonic()
        self._validating += 1
        try:
            result = await self._scorer.score_group_async(
                query.query_id,
                [rollout.text],
                reference=query.reference,
                **query.content(),
                eligible=[rollout.eligible],
                step=rollout.step,
                update=False,
                validate=True,
            )
        except RankBufferError as error:
            return _failure(error, f"validation of query {query.query_id!r:.80}")
        finally:
            self._validating -= 1
        return rollout_rewards(result, time.monotonic() - started)[0]

    # Training.

    async def _train(self, rollout: Rollout) -> RolloutReward:
        key = rollout.key
        while True:
            group = self._open.get(key)
            if group is None and rollout.has_uid and key in self._ended:
                return self._ended[key].reward_of(rollout)
            if group is None:
                group = self._begin(key, rollout)
            if not group.full.is_set() or find(group.members, rollout):
                break
            await asyncio.wait(
                [self._tasks[key]]
            )  # full: this one is too many, or of the prompt's next group
        task = self._tasks[key]
        member = await group.join(rollout, padded=self._padded)
        await asyncio.wait([task])  # cancelling this rollout must not cancel its group
        return task.result().of(member)

    def _begin(self, key: Key, rollout: Rollout) -> RolloutGroup:
        settings = self._settings
        group = RolloutGroup(
            key,
            self._size,
            # The batch path gives rows no uid, and sends all of them at once.
            wait_s=settings.deadline_s if rollout.has_uid else settings.batch_wait_s,
            duplicate_wait_s=settings.batch_wait_s,
        )
        self._open[key] = group
        self._tasks[key] = asyncio.create_task(self._run(group, rollout))
        return group

    async def _run(self, group: RolloutGroup, first: Rollout) -> EndedGroup:
        """Scores a group, from its first rollout to the rewards of all."""
        try:
            ended = await self._score(group, first)
        except Exception as error:
            ended = EndedGroup(group.members, failure=self._failed(group, first, error))
        finally:
            group.close()
            del self._open[group.key], self._tasks[group.key]
        self.remember({group.key: ended})
        return ended

    async def _score(self, group: RolloutGroup, first: Rollout) -> EndedGroup:
        query = first.query
        async with self._scorer.open_group(
            query.query_id,
            expected=group.expected,
            reference=query.reference,
            **query.content(),
            step=first.step,
            **self._group_fields(first),
        ) as scoring:
            group.open(scoring)
            await group.until_full()
            await group.settle_duplicates()
            last = time.monotonic()
        seconds = time.monotonic() - last
        _log_failure(scoring.result)
        return EndedGroup(group.members, rollout_rewards(scoring.result, seconds))

    def _failed(self, group: RolloutGroup, first: Rollout, error: Exception) -> RolloutReward:
        query_id = first.query.query_id
        if isinstance(error, RankBufferError):
            return _failure(error, f"group of query {query_id!r:.80}")
        log.error("rankbuffer: group of query %.80r failed", query_id, exc_info=error)
        return failed("error")


def _failure(error: RankBufferError, what: str) -> RolloutReward:
    """The status of rollouts that failed with an error. Only its summary is safe to log."""
    status = "judge_failed" if isinstance(error, JudgeError) else "rejected"
    level = logging.WARNING if status == "judge_failed" else logging.ERROR
    log.log(level, "rankbuffer: %s is %s: %s", what, status, error.summary)
    log.debug("rankbuffer: %s: %.300s", what, error)
    return failed(status)


def _log_failure(result: GroupResult) -> None:
    if result.group_status == "ok":
        return
    seen = dict(Counter(result.status))
    log.warning(
        "rankbuffer: group %s is %s: %s: %s",
        result.group_id, result.group_status, seen, result.error_summary,
    )  # fmt: skip
    log.debug("rankbuffer: group %s: %.300s", result.group_id, result.error)
