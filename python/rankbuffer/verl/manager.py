"""The reward manager that verl's reward workers run."""

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import Any, Protocol

import torch
from omegaconf import OmegaConf
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from ..errors import ConfigError, RankBufferError
from .config.probe import judge_answers, start_problems
from .config.validate import Plan, plan
from .files import tracker
from .owner import Owner
from .rollouts.rows import Rollout, RowReader
from .verdict import Verdict, failed

log = logging.getLogger(__name__)


class Owners(Protocol):
    """Where the buffers live: in this process, or in named actors."""

    async def score(self, rollout: Rollout) -> Verdict: ...


class RewardManager(RewardManagerBase):  # type: ignore[misc]
    """Group rewards for a loop that asks for one trajectory at a time.

    With one reward worker everything stays in its process; with more, the
    rollouts of a query meet in the Ray actor that owns it.
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
        self.plan, self.root, at = read_config(config)
        self._reader = RowReader(tokenizer, self.plan.settings)
        self.owner: Owner | None = None
        self._owners: Owners
        if self.plan.workers == 1:
            self.owner = Owner(self.plan, self.root, at, uuid.uuid4().hex[:12])
            self._owners = self.owner
        else:
            from .actors.owners import RemoteOwners

            self._owners = RemoteOwners(self.plan, self.root, at)

    async def run_single(self, data: Any) -> dict[str, Any]:
        """A trajectory's reward. Never raises: a failure has a status and no advantage."""
        verdict = await self._verdict(data)
        return {"reward_score": verdict.reward, "reward_extra_info": verdict.as_extra_info()}

    async def _verdict(self, data: Any) -> Verdict:
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


def read_config(config: Any, *, whole: bool = False) -> tuple[Plan, Any, tracker.Resume]:
    """A trainer's configuration, checked: ours, where checkpoints go, and what is resumed.

    ConfigError says what to override; an endpoint that does not answer is one. ``whole``
    also reads the side files and tries the options of the library, once for all workers.
    """
    plain = OmegaConf.to_container(config, resolve=True)
    assert isinstance(plain, dict)
    ours = plan({str(name): value for name, value in plain.items()})
    settings = ours.settings
    problems = start_problems(settings) if whole else judge_answers(settings.scorer.judge)
    if problems:
        raise ConfigError("\n".join(problems))
    root = tracker.root_of(plain["trainer"])
    return ours, root, tracker.resume(plain["trainer"], root)
