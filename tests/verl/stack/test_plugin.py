"""The ways in: the plugin entry point, importlib, and nothing when nobody asks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rankbuffer.verl.config.overrides import check, overrides


def fresh(code: str, **env: str) -> str:
    import os

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_import_verl_registers_us() -> None:
    """verl logs a plugin's errors at DEBUG only: what counts is the name in the registry."""
    code = (
        "import verl\n"
        "from verl.experimental.reward_loop.reward_manager import get_reward_manager_cls\n"
        "print(get_reward_manager_cls('rankbuffer').__module__)"
    )
    assert fresh(code) == "rankbuffer.verl.manager"


def test_importlib_needs_no_plugin() -> None:
    code = (
        "import verl\n"
        "from verl.utils.import_utils import load_class_from_fqn, load_extern_object\n"
        "print(load_extern_object('pkg://rankbuffer.verl', 'RewardManager').__name__)\n"
        "print(load_class_from_fqn('rankbuffer.verl.CheckpointCallback').__name__)"
    )
    found = fresh(code, VERL_USE_EXTERNAL_PLUGINS="none")
    assert found.split() == ["RewardManager", "CheckpointCallback"]


def test_a_bad_configuration_stops_the_trainer_on_the_driver(
    tokenizer_dir: Path, judge_url: str, tmp_path: Path
) -> None:
    """The trainer builds its checkpoint callback before anything else."""
    from stack import config, judge
    from verl.trainer.ppo.checkpoint_callback import build_checkpoint_callback

    from rankbuffer.errors import ConfigError

    callback = "trainer.checkpoint_callback_class=rankbuffer.verl.CheckpointCallback"
    build_checkpoint_callback(config(tokenizer_dir, tmp_path, [*judge(judge_url), callback]))
    for wrong, override in (
        (judge("http://127.0.0.1:9/v1"), "reward.rankbuffer.judge.base_url="),
        (judge(f"{judge_url}/elsewhere"), "reward.rankbuffer.judge.base_url="),
        ([*judge(judge_url), "+reward.rankbuffer.side_file=/no/such"], "/no/such cannot be read"),
        ([*judge(judge_url), "+reward.rankbuffer.metod=scr"], "reward.rankbuffer.metod"),
        (
            [*judge(judge_url), "+reward.rankbuffer.method.k0=-1"],
            "reward.rankbuffer.method.rankbuffer.k0: ",
        ),
        ([*judge(judge_url), "data.train_batch_size=500"], "reward.num_workers="),
    ):
        with pytest.raises(ConfigError) as caught:
            build_checkpoint_callback(config(tokenizer_dir, tmp_path, [*wrong, callback]))
        assert override in str(caught.value)


def main_ppo(where: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    given = ["actor_rollout_ref.model.path=/none", "actor_rollout_ref.rollout.name=vllm"]
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "verl.trainer.main_ppo", *given, *overrides],
        cwd=where,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_bad_configuration_stops_the_older_trainer_before_it_starts(
    judge_url: str, tmp_path: Path
) -> None:
    """It knows no checkpoint callback, but hydra has one for every command."""
    bad = overrides(base_url="http://127.0.0.1:9/v1", model="m", v0=True)
    done = main_ppo(tmp_path, *bad)
    assert done.returncode == 1
    assert done.stderr.count("cannot reach") == 1
    assert "+reward.rankbuffer.judge.base_url=" in done.stderr
    assert "Traceback" not in done.stderr
    good = overrides(base_url=judge_url, model="m", v0=True)
    assert check(None, ["actor_rollout_ref.rollout.name=vllm", *good]).steps_in_rows is False
    done = main_ppo(
        tmp_path, *good, "trainer.n_gpus_per_node=0"
    )  # which verl itself refuses, and later
    assert "Traceback" in done.stderr
    assert "in validate_config" in done.stderr


def test_rankbuffer_imports_no_trainer() -> None:
    code = (
        "import sys, rankbuffer, rankbuffer.verl, rankbuffer.verl.config.settings, rankbuffer.cli\n"
        "print([m for m in ('verl', 'ray', 'torch', 'trl') if m in sys.modules])"
    )
    assert fresh(code) == "[]"
