"""The reward functions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ..config import ScorerConfig
from ..errors import ConfigError
from ..loop import BatchResult, run, score_rows
from ..scorer import Scorer
from .ranks import Ranks
from .rows import rows_of


class _Rewards:
    """What both kinds share: rows in, one scorer in the main process, rewards out."""

    def __init__(self, scorer: Scorer | ScorerConfig, *, group_size: int) -> None:
        """``group_size`` is the trainer's ``num_generations``."""
        if group_size < 1:
            raise ValueError(f"group_size: {group_size} is below 1")
        self._given = scorer
        self._scorer = scorer if isinstance(scorer, Scorer) else None
        self._size = group_size
        self.ranks = Ranks()
        self.__name__ = "rankbuffer"  # what TRL calls the reward in its logs

    @property
    def scorer(self) -> Scorer:
        """The scorer, built on first use: only the main process needs one."""
        if self._scorer is None:
            assert isinstance(self._given, ScorerConfig)
            self._scorer = Scorer(self._given)
        return self._scorer

    def checkpoints(
        self,
        *,
        resume_from: str | Path | None = None,
        on_missing: Literal["fail", "fresh"] = "fail",
    ) -> Any:
        """A trainer callback that keeps the buffers beside the model's checkpoints.

        ``resume_from`` is the checkpoint that is resumed, if it lies elsewhere than in
        the ``output_dir``. ``on_missing="fresh"`` starts with empty buffers where it
        has none, otherwise a CheckpointError.
        """
        from .callback import Checkpoints

        return Checkpoints(self, resume_from=resume_from, on_missing=on_missing)

    def fits(self, num_generations: int | None) -> None:
        """ConfigError if the trainer's groups have another size."""
        if num_generations not in (None, self._size):
            raise ConfigError(
                f"group_size is {self._size}, but the trainer's num_generations is "
                f"{num_generations}: set group_size={num_generations}"
            )

    def save(self, path: str | Path) -> None:
        self.scorer.snapshot(path)

    def restore(self, path: str | Path) -> None:
        self.scorer.restore(path)

    def close(self) -> None:
        if self._scorer is not None:
            self._scorer.close()

    async def _rewards(
        self, rows: list[dict[str, Any]], step: int | None, log_metric: Any
    ) -> list[float] | Exception:
        """The main process's work. An error is for all processes, which wait for rewards."""
        try:
            batch = await self._score(rows, step)
            _log(log_metric, batch)
        except Exception as error:
            return error
        return batch.rewards

    async def _score(self, rows: list[dict[str, Any]], step: int | None) -> BatchResult:
        """Training rows and validation rows, which the column ``split`` tells apart."""
        train = [i for i, row in enumerate(rows) if row.pop("split") == "train"]
        other = [i for i in range(len(rows)) if i not in set(train)]
        scored = await asyncio.gather(
            score_rows(self.scorer, [rows[i] for i in train], group_size=self._size, step=step),
            score_rows(self.scorer, [rows[i] for i in other], step=step, validate=True),
        )
        rewards = [0.0] * len(rows)
        for places, batch in zip((train, other), scored, strict=True):
            for place, reward in zip(places, batch.rewards, strict=True):
                rewards[place] = reward
        return BatchResult(
            rewards=rewards,
            results=[r for b in scored for r in b.results],
            rejected=sum(b.rejected for b in scored),
        )


class RewardFunction(_Rewards):
    """A reward function for ``GRPOTrainer(reward_funcs=[...])``.

    TRL calls it in every process with that process's part of the batch, which may
    hold parts of groups: the parts are put together in the main process, scored
    there, and every process gets the rewards of its own rows.
    """

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        trainer_state: Any = None,
        log_metric: Any = None,
        **columns: Any,
    ) -> list[float]:
        everything = self.ranks.gather(_rows(prompts, completions, columns))
        rewards: list[float] | Exception | None = None
        if everything is not None:
            rewards = run(self._rewards(everything, _step(trainer_state), log_metric))
        return self.ranks.share(rewards, len(prompts))


class AsyncRewardFunction(_Rewards):
    """The same as a coroutine, which TRL runs beside its other asynchronous rewards."""

    def __init__(self, scorer: Scorer | ScorerConfig, *, group_size: int) -> None:
        super().__init__(scorer, group_size=group_size)
        self._turn = asyncio.Lock()  # an exchange of two calls would mix them up

    async def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        trainer_state: Any = None,
        log_metric: Any = None,
        **columns: Any,
    ) -> list[float]:
        rows = _rows(prompts, completions, columns)
        self.ranks.join()  # not in a thread: groups are made in the same order everywhere
        async with self._turn:
            everything = await asyncio.to_thread(self.ranks.gather, rows)
            rewards: list[float] | Exception | None = None
            if everything is not None:
                rewards = await self._rewards(everything, _step(trainer_state), log_metric)
            return await asyncio.to_thread(self.ranks.share, rewards, len(prompts))


def _rows(
    prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
) -> list[dict[str, Any]] | Exception:
    """An error is for all processes, which wait for this one's rows."""
    try:
        return rows_of(prompts, completions, columns)
    except Exception as error:
        return error


def _step(state: Any) -> int | None:
    step = getattr(state, "global_step", None)
    return None if step is None else int(step)


def _log(log_metric: Any, batch: BatchResult) -> None:
    """What a batch cost and whether it can teach anything."""
    results = batch.results
    if log_metric is None or not (results or batch.rejected):
        return
    progress = [p for r in results for p in r.progress if p is not None]
    figures = {
        "judge_calls": sum(sum(r.calls.values()) for r in results),
        "prompt_tokens": sum(r.tokens.get("prompt", 0) for r in results),
        "zero_spread_share": (sum(r.reward_std == 0 for r in results) + batch.rejected)
        / (len(results) + batch.rejected),
        "failed_groups": sum(r.group_status != "ok" for r in results) + batch.rejected,
    }
    if progress:
        figures["progress"] = sum(progress) / len(progress)
    for name, value in figures.items():
        log_metric(f"rankbuffer/{name}", float(value))
