"""The actors that hold the buffers: who finds them, and when they end."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import ray
from stack import config, judge

from rankbuffer.verl.actors.owner_actor import actor_name
from rankbuffer.verl.manager import read_config


def owners_of(job: str) -> set[str]:
    actors = ray.util.list_named_actors(all_namespaces=True)
    return {a["name"] for a in actors if a["name"].startswith(f"rankbuffer-{job}-")}


def test_owners_end_with_their_job(
    cluster: None, judge_url: str, tokenizer_dir: Path, tmp_path: Path
) -> None:
    """It died before it had sent a single rollout, and the cluster lives on."""
    options = {
        "address": ray.get_runtime_context().gcs_address,
        "tokenizer": str(tokenizer_dir),
        "root": str(tmp_path),
        "overrides": [
            *judge(judge_url),
            "reward.num_workers=2",
            "+reward.rankbuffer.rendezvous.owners=3",
            "+reward.rankbuffer.rendezvous.restart_s=12",
        ],
    }
    program = [sys.executable, "-W", "ignore", str(Path(__file__).parent / "leaver.py")]
    done = subprocess.run(
        [*program, json.dumps(options)], stdout=subprocess.PIPE, text=True, timeout=200
    )
    job = json.loads(done.stdout.splitlines()[-1])["job"]
    assert len(owners_of(job)) == 3
    end = time.monotonic() + 90
    while owners_of(job):
        assert time.monotonic() < end, owners_of(job)
        time.sleep(1)
    time.sleep(5)
    assert not owners_of(job), "Ray has restarted one"


def test_owners_stay_while_no_rollout_comes(
    cluster: None, judge_url: str, tokenizer_dir: Path, tmp_path: Path
) -> None:
    """As in a long step of training."""
    from stack import Loop, StubLLM

    overrides = [
        *judge(judge_url),
        "reward.num_workers=2",
        "+reward.rankbuffer.rendezvous.restart_s=12",
    ]
    loop = Loop(config(tokenizer_dir, tmp_path, overrides), StubLLM([], tokenizer_dir), None)
    try:
        pids = [ray.get(o.stats.remote())["pid"] for o in loop.owners()]
        time.sleep(30)
        assert [ray.get(o.stats.remote())["pid"] for o in loop.owners()] == pids
    finally:
        loop.close()


def test_other_settings_have_other_owners(
    cluster: None, judge_url: str, tokenizer_dir: Path, tmp_path: Path
) -> None:
    plan, root, _ = read_config(config(tokenizer_dir, tmp_path, judge(judge_url)))

    def name(**changed: Any) -> str:
        scorer = {k: v for k, v in changed.items() if k in ("seed", "prompts", "reasoning")}
        settings = dataclasses.replace(
            plan.settings,
            scorer=dataclasses.replace(plan.settings.scorer, **scorer),
            **{k: v for k, v in changed.items() if k not in scorer},
        )
        return actor_name(dataclasses.replace(plan, settings=settings), root, 0)

    assert name() == actor_name(plan, root, 0)
    changes: list[dict[str, Any]] = [
        {},
        {"seed": 1},
        {"prompts": {"coarse": "x"}},
        {"reasoning": None},
        {"side_file": "x"},
    ]
    assert len({name(**changed) for changed in changes}) == len(changes)
