"""verl's own reward loop and agent loops under Ray, with a stub for the LLM server alone."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
from hydra import compose, initialize_config_module
from tensordict import TensorDict
from verl.experimental.reward_loop import RewardLoopManager, migrate_legacy_reward_impl

from rankbuffer.rows import ReplayRow
from verl import DataProto

PROMPT, RESPONSE = 1024, 4096


def config(tokenizer: Path, directory: Path, overrides: Iterable[str] = (), n: int = 8) -> Any:
    """A trainer's configuration as main_ppo would compose it."""
    given = [
        f"actor_rollout_ref.model.path={tokenizer}",
        "actor_rollout_ref.rollout.name=vllm",
        f"actor_rollout_ref.rollout.n={n}",
        f"actor_rollout_ref.rollout.prompt_length={PROMPT}",
        f"actor_rollout_ref.rollout.response_length={RESPONSE}",
        "actor_rollout_ref.rollout.agent.num_workers=1",
        "data.train_batch_size=16",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
        "algorithm.adv_estimator=grpo",
        "reward.num_workers=1",
        "reward.reward_manager.name=rankbuffer",
        f"trainer.default_local_dir={directory}",
        *overrides,
    ]
    with initialize_config_module("verl.trainer.config", version_base=None):
        composed = compose("ppo_trainer", overrides=given)
    return migrate_legacy_reward_impl(composed)


IMPORTLIB = [
    "reward.reward_manager.source=importlib",
    "reward.reward_manager.module.path=pkg://rankbuffer.verl",
    "reward.reward_manager.name=RewardManager",
]


def judge(url: str, **options: Any) -> list[str]:
    given = {"base_url": url, "model": "simulated", "backoff": 0.01, **options}
    return [f"+reward.rankbuffer.judge.{name}={value}" for name, value in given.items()]


# Rows as a data set prepared by `rankbuffer prepare` has them.


def prompt(query: ReplayRow) -> list[dict[str, str]]:
    assert isinstance(query.query, str)
    return [{"role": "user", "content": query.query}]


def extra_info(query: ReplayRow, split: str = "train") -> dict[str, Any]:
    return {
        "split": split,
        "index": 0,
        "query_id": query.query_id,
        "ranked": [response.text for response in query.ranked],
    }


class StubLLM:
    """Answers each query with the rollouts of a replay file, epoch after epoch.

    ``script(query text, epoch, index)`` may delay an answer, or fail.
    """

    tokenizer = None

    def __init__(
        self,
        queries: Sequence[ReplayRow],
        tokenizer: Path,
        script: Callable[[str, int, int], float] | None = None,
    ) -> None:
        self._texts = {q.query: [[r.text for r in e] for e in q.epochs] for q in queries}
        self._ids = {q.query: q.query_id for q in queries}
        self._path = tokenizer
        self._script = script
        self._seen: dict[str, int] = defaultdict(int)
        self._decoder: Any = None

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: Any, **kw: Any
    ) -> Any:
        from verl.workers.rollout.replica import TokenOutput

        if self._decoder is None:
            from transformers import AutoTokenizer

            self._decoder = AutoTokenizer.from_pretrained(self._path)
        text = self._decoder.decode(prompt_ids, skip_special_tokens=False)
        query = text.split("<|im_start|>user\n", 1)[1].split("<|im_end|>", 1)[0]
        epochs = self._texts[query]
        size = len(epochs[0])
        epoch, index = divmod(self._seen[query], size)
        self._seen[query] += 1
        delay = self._script(self._ids[query], epoch, index) if self._script else 0.0
        await asyncio.sleep(delay)
        ids = self._decoder.encode(epochs[epoch % len(epochs)][index], add_special_tokens=False)
        return TokenOutput(
            token_ids=[*ids, 1],
            log_probs=[0.0] * (len(ids) + 1),
            extra_fields={"global_steps": 1, "min_global_steps": 1, "max_global_steps": 1},
        )


# What comes back: one scored rollout.


@dataclass
class Scored:
    uid: str
    text: str
    reward: float
    extra: dict[str, Any] = field(default_factory=dict)


class Loop:
    """A RewardLoopManager with the agent loops of both trainers on top."""

    def __init__(self, cfg: Any, llm: StubLLM, tokenizer: Any) -> None:
        self.config = cfg
        self.rewards = RewardLoopManager(cfg)
        self.tokenizer = tokenizer
        self.n = cfg.actor_rollout_ref.rollout.n
        self._llm = llm
        self._v0: Any = None
        self._v1: Any = None

    def workers(self) -> list[Any]:
        return self.rewards.reward_loop_workers

    def owners(self) -> list[Any]:
        """The actors that hold the buffers."""
        from rankbuffer.verl.actors.owner_actor import find_owners
        from rankbuffer.verl.manager import read_config

        ray.get([worker.__ray_ready__.remote() for worker in self.workers()])
        plan, root, _ = read_config(self.config)
        return find_owners(plan, root)

    # The older trainer: rows are repeated first and come back as one DataProto.

    def v0(self, queries: Sequence[ReplayRow], split: str = "train") -> list[Scored]:
        from verl.experimental.agent_loop import AgentLoopManager

        if self._v0 is None:
            self._v0 = AgentLoopManager.create(
                self.config,
                self._llm,
                reward_loop_worker_handles=self.rewards.reward_loop_worker_handles,
            )
        columns = self._columns(queries, self.n, split)
        rows = len(columns["uid"])
        data = DataProto(
            batch=TensorDict({"dummy": torch.zeros(rows, 1, dtype=torch.uint8)}, batch_size=rows),
            non_tensor_batch=dict(columns),
            meta_info={"global_steps": 1, "validate": split != "train"},
        )
        out = self._v0.generate_sequences(data)
        keys = out.meta_info["reward_extra_keys"]
        masks = out.batch["response_mask"].bool()
        return [
            Scored(
                uid=str(columns["uid"][i]),
                text=self.tokenizer.decode(
                    out.batch["responses"][i][masks[i]], skip_special_tokens=True
                ),
                reward=float(out.batch["rm_scores"][i].sum()),
                extra={key: out.non_tensor_batch[key][i] for key in keys},
            )
            for i in range(rows)
        ]

    # The default trainer: one row a prompt, trajectories land in TransferQueue.

    def v1(
        self,
        queries: Sequence[ReplayRow],
        step: int,
        split: str = "train",
        uids: Sequence[str] | None = None,
        wait: float = 120.0,
    ) -> tuple[list[Scored], dict[str, str]]:
        import transfer_queue as tq
        from verl.utils import tensordict_utils as tu

        agents = self.agents()
        columns = self._columns(queries, 1, split, uids)
        names = list(columns["uid"])
        batch = tu.get_tensordict(dict(columns))
        tu.assign_non_tensor_data(batch, "global_steps", step)
        partition = "train" if split == "train" else "val"
        if split != "train":
            tu.assign_non_tensor_data(batch, "validate", True)
        tags = [{"is_prompt": True, "status": "pending", "global_steps": step} for _ in names]
        tq.kv_batch_put(keys=names, partition_id=partition, tags=tags)
        agents.generate_sequences(batch)
        return self.collect(names, partition, wait)

    def agents(self) -> Any:
        """The default trainer's agent loops."""
        import transfer_queue as tq
        from omegaconf import OmegaConf
        from verl.trainer.ppo.v1 import AgentLoopManagerTQ

        if self._v1 is None:
            self.config.transfer_queue.enable = True
            OmegaConf.resolve(self.config)
            tq.init(self.config.transfer_queue)
            self._v1 = AgentLoopManagerTQ.create(
                config=self.config,
                llm_client=self._llm,
                teacher_client=None,
                reward_loop_worker_handles=self.rewards.reward_loop_worker_handles,
            )
        return self._v1

    def columns(self, queries: Sequence[ReplayRow], uids: Sequence[str]) -> dict[str, Any]:
        """One row a prompt, as the trainer takes them from its data."""
        return self._columns(queries, 1, "train", uids)

    def collect(
        self, names: Sequence[str], partition: str, wait: float
    ) -> tuple[list[Scored], dict[str, str]]:
        import transfer_queue as tq

        end = time.monotonic() + wait
        while True:
            items = tq.kv_list(partition).get(partition, {})
            status = {name: items.get(name, {}).get("status") for name in names}
            if set(status.values()) <= {"finished", "failure"}:
                break
            assert time.monotonic() < end, f"no end in sight: {status}"
            time.sleep(0.1)
        keys = [k for k in items if k not in names and k.split("_")[0] in names]
        scored = []
        if keys:
            data = tq.kv_batch_get(keys=keys, partition_id=partition)
            for key, rm, response, fields in zip(
                keys,
                data["rm_scores"].unbind(),
                data["responses"].unbind(),
                list(data["extra_fields"]),
                strict=True,
            ):
                scored.append(
                    Scored(
                        uid=key.split("_")[0],
                        text=self.tokenizer.decode(response, skip_special_tokens=True),
                        reward=float(rm.sum()),
                        extra=getattr(fields, "data", fields)["reward_extra_info"],
                    )
                )
        tq.kv_clear(keys=[*keys, *names], partition_id=partition)
        return scored, status

    # The batch path.

    def batch(self, rows: Sequence[dict[str, Any]]) -> list[Scored]:
        """``compute_rm_score``: padded, then cut into one chunk a worker."""
        out = self.rewards.compute_rm_score(padded(rows, self.tokenizer))
        keys = out.meta_info["reward_extra_keys"]
        return [
            Scored(
                uid=str(row.get("uid")),
                text=row["text"],
                reward=float(out.batch["rm_scores"][i].sum()),
                extra={key: out.non_tensor_batch[key][i] for key in keys},
            )
            for i, row in enumerate(rows)
        ]

    def _columns(
        self,
        queries: Sequence[ReplayRow],
        repeat: int,
        split: str,
        uids: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        rows = [q for q in queries for _ in range(repeat)]
        names = list(uids) if uids else [uuid.uuid4().hex for _ in queries]
        return {
            "uid": np.array([u for u in names for _ in range(repeat)], dtype=object),
            "raw_prompt": objects([prompt(q) for q in rows]),
            "extra_info": objects([extra_info(q, split) for q in rows]),
            "reward_model": objects([{"ground_truth": "", "style": "rule"} for _ in rows]),
            "data_source": objects(["replay" for _ in rows]),
            "index": objects(list(range(len(rows)))),
        }

    def close(self) -> None:
        """Everything of this run goes, its owners too, as with the end of a job."""
        if self.config.reward.num_workers > 1:
            for owner in self.owners():
                ray.kill(owner)
        for manager in (self._v0, self._v1):
            for worker in getattr(manager, "agent_loop_workers", []):
                ray.kill(worker)
        for worker in self.workers():
            ray.kill(worker)
        self._v0 = self._v1 = None


def objects(values: Sequence[Any]) -> Any:
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        out[i] = value
    return out


# Rows straight to a reward worker, as an agent loop sends them.


def row(
    query: ReplayRow, text: str, tokenizer: Any, *, split: str = "train", **columns: Any
) -> DataProto:
    """One trajectory, unpadded, with the columns of V1 rows; None leaves a column out."""
    prompts = tokenizer.encode(query.query, add_special_tokens=False)
    response = [*tokenizer.encode(text, add_special_tokens=False), 1] if text else []
    given: dict[str, Any] = {
        "raw_prompt": prompt(query),
        "extra_info": extra_info(query, split),
        "data_source": "replay",
        "__num_turns__": 2,
        "prompt_len": len(prompts),
        "response_len": len(response),
        **columns,
    }
    tensors = {
        "prompts": torch.tensor([prompts]),
        "responses": torch.tensor([response], dtype=torch.int64).reshape(1, -1),
        "attention_mask": torch.ones(1, len(prompts) + len(response), dtype=torch.int64),
    }
    return DataProto(
        batch=TensorDict(tensors, batch_size=1),
        non_tensor_batch={k: objects([v]) for k, v in given.items() if v is not None},
    )


def padded(rows: Sequence[dict[str, Any]], tokenizer: Any) -> DataProto:
    """A batch as compute_rm_score gets it: {"query", "text", columns} to padded tensors."""
    singles = [row(**r, tokenizer=tokenizer) for r in rows]
    p = max(d.batch["prompts"].shape[1] for d in singles)
    r = max(d.batch["responses"].shape[1] for d in singles)
    prompts = torch.zeros(len(rows), p, dtype=torch.int64)
    responses = torch.zeros(len(rows), r, dtype=torch.int64)
    mask = torch.zeros(len(rows), p + r, dtype=torch.int64)
    for i, d in enumerate(singles):
        a, b = d.batch["prompts"][0], d.batch["responses"][0]
        prompts[i, p - len(a) :] = a  # left
        responses[i, : len(b)] = b
        mask[i, p - len(a) : p + len(b)] = 1
    names = [n for n in singles[0].non_tensor_batch if n not in _STREAM_ONLY]
    return DataProto(
        batch=TensorDict(
            {"prompts": prompts, "responses": responses, "attention_mask": mask},
            batch_size=len(rows),
        ),
        non_tensor_batch={n: objects([d.non_tensor_batch[n][0] for d in singles]) for n in names},
    )


_STREAM_ONLY = ("__num_turns__", "prompt_len", "response_len", "session_id", "global_steps")


def send(workers: Sequence[Any], rows: Iterable[DataProto]) -> list[Any]:
    """To workers in turn, all at once; the references to what will come back."""
    return [w.compute_score.remote(r) for w, r in zip(itertools.cycle(workers), rows, strict=False)]


def buffers(loop: Loop, query_ids: Iterable[str]) -> dict[str, Any]:
    """Every buffer, wherever it is."""
    ids = list(query_ids)
    if loop.config.reward.num_workers == 1:
        return dict(
            zip(ids, ray.get(loop.workers()[0].__ray_call__.remote(_local, ids)), strict=True)
        )
    from rankbuffer.verl.actors.remote_owners import shard_of

    owners = loop.owners()
    calls = [owners[shard_of(i, len(owners))].buffer.remote(i) for i in ids]
    return dict(zip(ids, ray.get(calls), strict=True))


def _local(worker: Any, ids: list[str]) -> list[Any]:
    return [worker.reward_manager.owner.buffer(i) for i in ids]


def ray_start(cpus: int = 16) -> None:
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    ray.init(num_cpus=cpus, include_dashboard=False, logging_level="error", log_to_driver=False)
