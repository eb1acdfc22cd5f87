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
from .processes import Processes
from .rows import rows_of


class _Base:
    """What both reward functions share.

    ``scorer``
        A ScorerConfig, from which the main process makes the scorer when it needs
        it first. A Scorer is taken as it is: make it in the main process.
    ``group_size``
        How many completions a prompt gets: the trainer's ``num_generations``. A
        ConfigError at the start of training if the trainer has another number.
    """

    def __init__(self, scorer: Scorer | ScorerConfig, *, group_size: int) -> None:
        if group_size < 1:
            raise ConfigError(f"must be at least 1, got {group_size}", "group_size")
        self._config = scorer if isinstance(scorer, ScorerConfig) else None
        self._scorer = scorer if isinstance(scorer, Scorer) else None
        self._size = group_size
        self.processes = Processes()
        self.__name__ = "rankbuffer"  # what TRL calls the reward in its logs

    @property
    def scorer(self) -> Scorer:
        """The scorer. The first use makes it; only the main process needs one."""
        if self._scorer is None:
            assert self._config is not None
            self._scorer = Scorer(self._config)
        return self._scorer

    def checkpoints(
        self,
        *,
        resume_from: str | Path | None = None,
        on_missing: Literal["fail", "fresh"] = "fail",
    ) -> Any:
        """A trainer callback that saves the buffers with each of the model's checkpoints.

        It writes ``rankbuffer.zst`` into each ``checkpoint-N`` and reads it when the
        trainer resumes one.

        ``resume_from``
            The directory of the checkpoint that is resumed. Needed if it is not
            ``checkpoint-N`` in the trainer's ``output_dir``.
        ``on_missing``
            What happens if that checkpoint has no buffers: ``"fail"`` raises a
            CheckpointError, ``"fresh"`` starts with empty buffers.
        """
        from .checkpoint_callback import CheckpointCallback

        return CheckpointCallback(self, resume_from=resume_from, on_missing=on_missing)

    def check_group_size(self, num_generations: int | None) -> None:
        """ConfigError if the trainer's groups have another size."""
        if num_generations not in (None, self._size):
            raise ConfigError(
                f"is {self._size}, but the trainer's num_generations is {num_generations}: "
                f"set group_size={num_generations}",
                "group_size",
            )

    def save(self, path: str | Path) -> None:
        """Saves the buffers, in the main process."""
        self.scorer.snapshot(path)

    def restore(self, path: str | Path) -> None:
        """Reads the buffers that `save` wrote, in the main process."""
        self.scorer.restore(path)

    def close(self) -> None:
        """Closes the scorer, if this process made one."""
        if self._scorer is not None:
            self._scorer.close()

    async def _rewards(
        self, rows: list[dict[str, Any]], step: int | None, log_metric: Any
    ) -> list[float] | Exception:
        """The main process's work. It returns an error, which all processes then raise."""
        try:
            result = await self._score(rows, step)
            _log(log_metric, result)
        except Exception as error:
            return error
        return result.rewards

    async def _score(self, rows: list[dict[str, Any]], step: int | None) -> BatchResult:
        """Scores training rows and validation rows, which the column ``split`` tells apart."""
        training = [row.pop("split") == "train" for row in rows]
        train = [row for row, is_training in zip(rows, training, strict=True) if is_training]
        other = [row for row, is_training in zip(rows, training, strict=True) if not is_training]
        scored = await asyncio.gather(
            score_rows(self.scorer, train, group_size=self._size, step=step),
            score_rows(self.scorer, other, step=step, validate=True),
        )
        of_train, of_other = (iter(result.rewards) for result in scored)
        return BatchResult(
            rewards=[next(of_train if is_training else of_other) for is_training in training],
            results=[group for result in scored for group in result.results],
            rejected=sum(result.rejected for result in scored),
        )


class RewardFunction(_Base):
    """A reward function for ``GRPOTrainer(reward_funcs=[...])``.

    TRL calls it in every process with that process's part of the batch, which may
    hold parts of groups. The main process puts the parts together and scores them.
    Every process gets the rewards of its own rows.

    ``scorer``
        A ScorerConfig, from which the main process makes the scorer, or a Scorer.
    ``group_size``
        How many completions a prompt gets: the trainer's ``num_generations``.

    >>> import rankbuffer as rb
    >>> judge = rb.SimulatedJudge(qualities={"Air scatters blue.": 2, "It just is.": 0})
    >>> reward = RewardFunction(rb.ScorerConfig(judge=judge), group_size=2)
    >>> prompts = ["Why is the sky blue?"] * 2
    >>> reward(prompts, ["Air scatters blue.", "It just is."])
    [1.0, -1.0]
    >>> reward.close()
    """

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        trainer_state: Any = None,
        log_metric: Any = None,
        **columns: Any,
    ) -> list[float]:
        """TRL's call. ``columns`` are those of the dataset, one value for each completion."""
        everything = self.processes.gather(_rows(prompts, completions, columns))
        rewards: list[float] | Exception | None = None
        if everything is not None:
            rewards = run(self._rewards(everything, _step(trainer_state), log_metric))
        return self.processes.share(rewards, len(prompts))


class AsyncRewardFunction(_Base):
    """`RewardFunction` as a coroutine, which TRL runs beside its other asynchronous rewards."""

    def __init__(self, scorer: Scorer | ScorerConfig, *, group_size: int) -> None:
        super().__init__(scorer, group_size=group_size)
        self._turn = asyncio.Lock()  # the exchanges of two calls would mix

    async def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        trainer_state: Any = None,
        log_metric: Any = None,
        **columns: Any,
    ) -> list[float]:
        """TRL's call. ``columns`` are those of the dataset, one value for each completion."""
        rows = _rows(prompts, completions, columns)
        self.processes.join()  # not in a thread: every process makes its groups in one order
        async with self._turn:
            everything = await asyncio.to_thread(self.processes.gather, rows)
            rewards: list[float] | Exception | None = None
            if everything is not None:
                rewards = await self._rewards(everything, _step(trainer_state), log_metric)
            return await asyncio.to_thread(self.processes.share, rewards, len(prompts))


def _rows(
    prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
) -> list[dict[str, Any]] | Exception:
    """The rows, or the error that all processes raise: they wait for this one's rows."""
    try:
        return rows_of(prompts, completions, columns)
    except Exception as error:
        return error


def _step(state: Any) -> int | None:
    step = getattr(state, "global_step", None)
    return None if step is None else int(step)


def _log(log_metric: Any, batch: BatchResult) -> None:
    """Logs what a batch cost, and how many groups gave no signal."""
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
