"""A synchronous verl run of which only the model is missing: run as a program and killed.

Stock parts: RewardLoopManager and its workers, the trainer's own _save_checkpoint
and _load_checkpoint, the checkpoint callback. Rollouts go straight to the workers.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

SAVE_EVERY = 2


class NoModel:
    """Stands in for the actor's worker group: writes a directory."""

    def save_checkpoint(self, path: str, *args: Any, **kw: Any) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    def load_checkpoint(self, **kw: Any) -> None:
        pass


class NoData:
    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Any) -> None:
        pass


def trainer(cfg: Any, loop: Any) -> Any:
    """verl's synchronous trainer without its GPUs."""
    from verl.trainer.ppo.checkpoint_callback import build_checkpoint_callback
    from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

    made = object.__new__(PPOTrainerSync)
    made.__dict__.update(
        config=cfg,
        checkpoint_callback=build_checkpoint_callback(cfg),
        trainer_mode="sync",
        use_critic=False,
        actor_rollout_wg=NoModel(),
        train_dataloader=NoData(),
        reward_loop_manager=loop.rewards,
        global_steps=0,
    )
    return made


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    options = SimpleNamespace(**json.loads(sys.argv[1]))
    import ray
    from stack import Loop, StubLLM, buffers, config, judge, ray_start, row, send
    from transformers import AutoTokenizer

    from rankbuffer.replay import read_replay

    queries = read_replay(options.replay)[: options.queries]
    tokenizer = AutoTokenizer.from_pretrained(options.tokenizer)
    overrides = [
        *judge(options.judge_url),
        f"reward.num_workers={options.workers}",
        f"+reward.rankbuffer.rendezvous.owners={options.owners}",
        "trainer.checkpoint_callback_class=rankbuffer.verl.CheckpointCallback",
        "trainer.max_actor_ckpt_to_keep=1",
    ]
    ray_start(8)
    cfg = config(Path(options.tokenizer), Path(options.root), overrides)
    loop = Loop(cfg, StubLLM(queries, Path(options.tokenizer)), tokenizer)
    run = trainer(cfg, loop)
    run._load_checkpoint()
    ids = [q.query_id for q in queries]
    ray.get([w.__ray_ready__.remote() for w in loop.workers()])
    print(json.dumps({"resumed": run.global_steps, "buffers": buffers(loop, ids)}), flush=True)

    if options.kill == "between":  # step file and callback
        run.checkpoint_callback.on_save = lambda **kw: die()
    if options.kill == "snapshot":
        save = run.checkpoint_callback.on_save

        def saving(**kw: Any) -> None:
            threading.Thread(target=lambda: (time.sleep(options.after), die())).start()
            save(**kw)

        run.checkpoint_callback.on_save = saving
    while run.global_steps < options.until:
        run.global_steps += 1
        rows = [
            row(q, r.text, tokenizer, uid=f"{q.query_id}-{run.global_steps}", session_id=i,
                global_steps=run.global_steps)
            for q in queries
            for i, r in enumerate(q.epochs[run.global_steps % len(q.epochs)])
        ]  # fmt: skip
        sent = send(loop.workers(), rows)
        if options.kill == "step" and run.global_steps % SAVE_EVERY == 1:
            ray.get(sent[: len(sent) // 2])
            time.sleep(options.after)
            die()
        outputs = ray.get(sent)
        assert {o["reward_extra_info"]["rb_group_status"] for o in outputs} == {0}
        if run.global_steps % SAVE_EVERY == 0:
            run._save_checkpoint()
    print(json.dumps({"done": run.global_steps, "buffers": buffers(loop, ids)}), flush=True)
    loop.close()
    ray.shutdown()


if __name__ == "__main__":
    main()
