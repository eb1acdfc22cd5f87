"""The reward manager, which verl's reward workers run."""

from __future__ import annotations

import asyncio
import logging
import uuid
from pathlib import Path
from typing import Any, Protocol

import torch
from omegaconf import OmegaConf
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from ..errors import ConfigError, RankBufferError
from .config.run_config import RunConfig, read_run_config
from .config.start_check import judge_problems, start_problems
from .files.trainer_checkpoints import Resume, resumed_step, root_of
from .owner import Owner
from .rollout_reward import RolloutReward, failed
from .rollouts.rows import Rollout, RowReader

log = logging.getLogger(__name__)


class Owners(Protocol):
    """What holds the buffers: an owner in this process, or several in Ray actors."""

    async def score(self, rollout: Rollout) -> RolloutReward: ...


class RewardManager(RewardManagerBase):  # type: ignore[misc]
    """Gives verl the reward of one trajectory, after its whole group was judged.

    With one reward worker the buffers are in its process. With more, each query has its
    buffer in one of the Ray actors that hold the buffers, the owners.
    """

    def __init__(
        self,
        config: Any,
        tokenizer: Any,
        compute_score: Any,
        reward_router_address: str | None = None,
        reward_model_tokenizer: Any = None,
    ) -> None:
        super().__init__(config, tokenizer, compute_score)
        self.run, self.root, resume = read_config(config)
        self._reader = RowReader(tokenizer, self.run.settings)
        self.owner: Owner | None = None
        self._owners: Owners
        if self.run.workers == 1:
            self.owner = Owner(self.run, self.root, resume, uuid.uuid4().hex[:12])
            self._owners = self.owner
        else:
            from .actors.remote_owners import RemoteOwners

            self._owners = RemoteOwners(self.run, self.root, resume)

    async def run_single(self, data: Any) -> dict[str, Any]:
        """A trajectory's reward. Never raises: a failure has a status and gives no advantage."""
        scored = await self._score(data)
        return {"reward_score": scored.reward, "reward_extra_info": scored.as_extra_info()}

    async def _score(self, data: Any) -> RolloutReward:
        try:
            loop = asyncio.get_running_loop()
            rollout = await loop.run_in_executor(None, self._reader.read, data)
            return await self._owners.score(rollout)
        except RankBufferError as error:
            log.error("rankbuffer: a row cannot be scored: %.500s", error)
            return failed("rejected")
        except Exception:
            log.exception("rankbuffer: a row could not be scored")
            return failed("error")

    @classmethod
    def assemble_rm_scores(cls, data: Any, scores: list[float]) -> torch.Tensor:
        """The score at each response's last token; the first one's for an empty response."""
        width = data.batch["prompts"].size(1)
        last = data.batch["attention_mask"][:, width:].sum(dim=1).long() - 1
        rm_scores = torch.zeros_like(data.batch["responses"], dtype=torch.float32)
        rows = torch.arange(rm_scores.size(0), device=rm_scores.device)
        rm_scores[rows, last.clamp(min=0)] = rm_scores.new_tensor(scores)
        return rm_scores


def read_config(config: Any, *, whole: bool = False) -> tuple[RunConfig, Path, Resume]:
    """Checks a trainer's configuration: our options, where checkpoints go, what is resumed.

    Raises ConfigError with the overrides to write, also if the judge cannot be reached.
    ``whole`` also checks the options of the scorer and the side files.
    """
    plain = OmegaConf.to_container(config, resolve=True)
    assert isinstance(plain, dict)
    run = read_run_config({str(name): value for name, value in plain.items()})
    settings = run.settings
    problems = start_problems(settings) if whole else judge_problems(settings.scorer.judge)
    if problems:
        raise ConfigError("\n".join(problems))
    root = root_of(plain["trainer"])
    return run, root, resumed_step(plain["trainer"], root)
