"""An asynchronous run that is resumed: finished trajectories come back, prompts are issued again.

Stock parts: TransferQueue with its checkpoint, AgentLoopManagerTQ, and the
asynchronous trainer's own saving, loading and re-issuing; only its model is missing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from driver import NoData, NoModel
from stack import Loop, StubLLM, buffers, config, judge

from rankbuffer.verl.rollout_reward import GROUP_STATUS

NEVER_S = 3600.0


class Life:
    """One start of the trainer."""

    def __init__(self, cfg: Any, llm: StubLLM, tokenizer: Any) -> None:
        from verl.trainer.ppo.checkpoint_callback import build_checkpoint_callback
        from verl.trainer.ppo.v1.trainer_colocate_async import PPOTrainerColocateAsync

        self.loop = Loop(cfg, llm, tokenizer)
        self.loop.agents()
        self.trainer = object.__new__(PPOTrainerColocateAsync)
        self.trainer.__dict__.update(
            config=cfg,
            checkpoint_callback=build_checkpoint_callback(cfg),
            trainer_mode="colocate_async",
            use_critic=False,
            actor_rollout_wg=NoModel(),
            train_dataloader=NoData(),
            reward_loop_manager=self.loop.rewards,
            agent_loop_manager=self.loop.agents(),
            global_steps=1,
            _restored_tq_prompt_count=0,
        )

    def issue(self, queries: list[Any], uids: list[str]) -> None:
        """As the trainer does with what it took from its data."""
        from verl.utils import tensordict_utils as tu

        batch = tu.get_tensordict(dict(self.loop.columns(queries, uids)))
        tu.assign_non_tensor_data(batch, "global_steps", self.trainer.global_steps)
        self.trainer._submit_batch_to_rollout(batch)

    def statuses(self, uids: list[str]) -> list[str]:
        import transfer_queue as tq

        items = tq.kv_list("train").get("train", {})
        return [items.get(uid, {}).get("status", "gone") for uid in uids]

    def until(self, uids: list[str], status: str) -> None:
        end = time.monotonic() + 90
        while set(self.statuses(uids)) != {status}:
            assert time.monotonic() < end, self.statuses(uids)
            time.sleep(0.2)

    def close(self) -> None:
        import transfer_queue as tq

        self.loop.close()
        tq.close()


@pytest.fixture
def lives() -> Iterator[list[Life]]:
    made: list[Life] = []
    yield made
    for life in made:
        life.close()


def test_reissued_prompts_are_applied_once(
    cluster: None,
    queries: list[Any],
    judge_url: str,
    tokenizer_dir: Path,
    tokenizer: Any,
    tmp_path: Path,
    lives: list[Life],
) -> None:
    import transfer_queue as tq

    finished, running, between = queries[:2], queries[2:4], queries[4:5]
    names = [[q.query_id for q in part] for part in (finished, running, between)]
    uids = [[f"uid-{name}" for name in part] for part in names]
    overrides = [
        *judge(judge_url),
        "reward.num_workers=2",
        "trainer.v1.trainer_mode=colocate_async",
        "trainer.checkpoint_callback_class=rankbuffer.verl.CheckpointCallback",
    ]

    def start(slow: bool) -> Life:
        blocked = {q.query_id for q in running} if slow else set()
        llm = StubLLM(queries, tokenizer_dir, Slow(blocked))
        life = Life(config(tokenizer_dir, tmp_path, overrides), llm, tokenizer)
        lives.append(life)
        return life

    first = start(slow=True)
    first.issue([*finished, *running, *between], [u for part in uids for u in part])
    first.until(uids[0] + uids[2], "finished")
    assert set(first.statuses(uids[1])) == {"running"}
    # `between` ends after the queue was saved and before the callback: the queue of the
    # checkpoint has it as running, the buffers have its update.
    tq.kv_batch_put(keys=uids[2], partition_id="train", tags=[{"status": "running"}])
    first.trainer._save_checkpoint()
    saved = buffers(first.loop, names[0] + names[1] + names[2])
    assert all(saved[name]["epochs_seen"] == [0] for name in names[0] + names[2])
    assert all(saved[name] is None or not saved[name]["epochs_seen"] for name in names[1])
    first.close()
    lives.clear()

    second = start(slow=False)
    second.trainer._load_checkpoint()
    assert second.trainer.global_steps == 1
    assert second.statuses(uids[0]) == ["finished"] * 2  # come back as they are
    ray.get([w.__ray_ready__.remote() for w in second.loop.workers()])
    resumed = buffers(second.loop, list(saved))
    assert {n: b for n, b in resumed.items() if n not in names[1]} == {
        n: b for n, b in saved.items() if n not in names[1]
    }
    second.trainer.global_steps = 2
    assert second.trainer._reissue_inflight_prompts() == 3
    scored, status = second.loop.collect(uids[1] + uids[2], "train", wait=90)
    assert set(status.values()) == {"finished"}
    assert len(scored) == 3 * 8
    assert {s.extra["rb_group_status"] for s in scored} == {GROUP_STATUS["ok"]}
    after = buffers(second.loop, list(saved))
    for name in names[0] + names[2]:
        assert after[name] == saved[name], "applied a second time"
    for name in names[1]:
        assert after[name]["epochs_seen"] == [0]


class Slow:
    """Rollouts of these queries never end; pickles, as it goes to the agent loops."""

    def __init__(self, blocked: set[str]) -> None:
        self._blocked = blocked

    def __call__(self, query_id: str, epoch: int, index: int) -> float:
        return NEVER_S if query_id in self._blocked else 0.0
