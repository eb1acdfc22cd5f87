"""A configuration that cannot work is refused with the override to write."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

import rankbuffer as rb
from rankbuffer.errors import ConfigError
from rankbuffer.verl.config.reward_workers import fits
from rankbuffer.verl.config.run_config import read_run_config
from rankbuffer.verl.config.settings import Settings
from rankbuffer.verl.files.trainer_checkpoints import resumed_step, root_of

GOOD: dict[str, Any] = {
    "reward": {
        "num_workers": 1,
        "reward_model": {"enable": False},
        "custom_reward_function": {"path": None},
        "rankbuffer": {"judge": {"base_url": "http://localhost:1/v1", "model": "m"}},
    },
    "actor_rollout_ref": {
        "rollout": {"n": 8},
        "actor": {"checkpoint": {"async_save": False}},
    },
    "algorithm": {"adv_estimator": "grpo"},
    "data": {"train_batch_size": 64},
    "trainer": {"use_v1": True, "v1": {"trainer_mode": "sync"}},
}


NAN, INF = float("nan"), float("inf")
TAGS = '+reward.rankbuffer.rendezvous.tool_call=\'["<tool_call>", "</tool_call>"]\''


def changed(path: str, value: Any) -> dict[str, Any]:
    config = copy.deepcopy(GOOD)
    at: Any = config
    *names, last = path.split(".")
    for name in names:
        at = at.setdefault(name, {})
    at[last] = value
    return config


def test_a_good_one() -> None:
    got = read_run_config(GOOD)
    assert (got.group_size, got.workers, got.asynchronous, got.steps_in_rows) == (8, 1, False, True)
    assert got.settings.scorer.method == rb.RankBuffer()
    assert read_run_config(changed("trainer.v1.trainer_mode", "colocate_async")).asynchronous
    assert not read_run_config(changed("trainer.use_v1", False)).steps_in_rows


@pytest.mark.parametrize(
    ("path", "value", "override"),
    [
        ("reward.rankbuffer", None, "+reward.rankbuffer.judge.base_url="),
        (
            "reward.rankbufer.method.k0",
            6,
            "rankbufer: unknown section; did you mean reward.rankbuffer?",
        ),
        ("reward.rankbuffer.judge", None, "must be a mapping"),
        ("reward.rankbuffer.jugde", {}, "reward.rankbuffer.jugde: unknown option, known are"),
        ("reward.rankbuffer.method", {"name": "rankbufer"}, "reward.rankbuffer.method.name"),
        ("reward.rankbuffer.method", {"name": "scr", "vote": 2}, "method.scr.vote: unknown"),
        ("reward.rankbuffer.judge.modle", "x", "reward.rankbuffer.judge.modle: unknown"),
        ("reward.rankbuffer.judge.api_key_env", "NO_SUCH_KEY", "NO_SUCH_KEY is not set"),
        ("reward.rankbuffer.rendezvous", {"deadline": 1}, "rendezvous.deadline: unknown"),
        ("reward.rankbuffer.rendezvous", {"deadline_s": -1}, "rendezvous.deadline_s"),
        ("reward.rankbuffer.rendezvous", {"owners": 0}, "rendezvous.owners"),
        ("reward.rankbuffer.rendezvous", {"owners": True}, "rendezvous.owners=1"),
        ("reward.rankbuffer.rendezvous", {"owners": 1.5}, "rendezvous.owners"),
        ("reward.rankbuffer.rendezvous", {"deadline_s": NAN}, "rendezvous.deadline_s=1800"),
        ("reward.rankbuffer.rendezvous", {"deadline_s": INF}, "rendezvous.deadline_s=1800"),
        ("reward.rankbuffer.rendezvous", {"restart_s": 0}, "rendezvous.restart_s=120"),
        ("reward.rankbuffer.rendezvous", {"batch_wait_s": "5"}, "rendezvous.batch_wait_s=5"),
        ("reward.rankbuffer.rendezvous", {"turns": "some"}, "rendezvous.turns=last"),
        ("reward.rankbuffer.rendezvous", {"turns": ["last"]}, "rendezvous.turns=last"),
        ("reward.rankbuffer.rendezvous", {"tool_call": 5}, TAGS),
        ("reward.rankbuffer.rendezvous", {"tool_call": "ab"}, TAGS),
        ("reward.rankbuffer.rendezvous", {"tool_call": ["<a>"]}, TAGS),
        ("reward.rankbuffer.rendezvous", {"tool_call": ["<a>", ""]}, TAGS),
        ("reward.rankbuffer.rendezvous", {"tool_call": ["<a>", 5]}, TAGS),
        ("reward.rankbuffer.rendezvous", {"multimodal": None}, "rendezvous.multimodal=text"),
        ("reward.rankbuffer.rendezvous", 5, "rendezvous: must be a mapping"),
        ("reward.rankbuffer.checkpoint", "x", "checkpoint: must be a mapping"),
        ("reward.rankbuffer.method", 5, "reward.rankbuffer.method"),
        ("reward.rankbuffer.judge", "m", "reward.rankbuffer.judge"),
        ("reward.rankbuffer.reasoning", "ab", "reward.rankbuffer.reasoning"),
        ("reward.rankbuffer.side_file", 5, "+reward.rankbuffer.side_file=FILE"),
        ("reward.rankbuffer.side_file", ["/a", 5], "+reward.rankbuffer.side_file=FILE"),
        ("reward.rankbuffer.side_file", "/no/such.jsonl", "side_file: /no/such.jsonl cannot be"),
        ("reward.rankbuffer.side_file", ["/dev", "/no"], "side_file: /no cannot be read"),
        (
            "reward.rankbuffer.rendezvous",
            {"group_size": 4},
            "rendezvous.group_size: unknown option",
        ),
        ("reward.rankbuffer.max_group_size", 4, "+reward.rankbuffer.max_group_size=8"),
        ("reward.rankbuffer.advantage", "dr_grpo", "algorithm.norm_adv_by_std_in_grpo=False"),
        ("reward.num_workers", 0, "set reward.num_workers=1"),
        ("reward.num_workers", "two", "set reward.num_workers=1"),
        ("data.train_batch_size", "many", "set data.train_batch_size=64"),
        ("reward.rankbuffer.checkpoint", {"on_missing": "x"}, "checkpoint.on_missing"),
        ("reward.rankbuffer.config", "/no/such/file.yaml", "/no/such/file.yaml"),
        ("actor_rollout_ref.rollout.n", 1, "actor_rollout_ref.rollout.n=8"),
        ("actor_rollout_ref.rollout.n", None, "actor_rollout_ref.rollout.n=8"),
        ("data.train_batch_size", 512, "reward.num_workers=5"),
        ("reward.reward_model.enable", True, "reward.reward_model.enable=False"),
        ("algorithm.adv_estimator", "remax", "algorithm.adv_estimator=grpo"),
        (
            "actor_rollout_ref.actor.checkpoint.async_save",
            True,
            "trainer.checkpoint_callback_class=rankbuffer.verl.CheckpointCallback",
        ),
    ],
)
def test_what_is_wrong_and_what_to_write(path: str, value: Any, override: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_run_config(changed(path, value))
    assert override in str(caught.value)


def test_a_pointwise_method_needs_no_group() -> None:
    config = changed("actor_rollout_ref.rollout.n", 1)
    config["reward"]["rankbuffer"]["method"] = "pointwise"
    assert read_run_config(config).group_size == 1


def test_options_alone_are_those_of_the_default_method() -> None:
    method = read_run_config(changed("reward.rankbuffer.method", {"k0": 7})).settings.scorer.method
    assert method == rb.RankBuffer(k0=7)


def test_all_problems_at_once() -> None:
    config = changed("algorithm.adv_estimator", "remax")
    config["reward"]["reward_model"]["enable"] = True
    with pytest.raises(ConfigError) as caught:
        read_run_config(config)
    assert len(str(caught.value).splitlines()) == 2


def in_flight(config: dict[str, Any], **trainer: Any) -> int:
    """As the refusal of one reward worker names it."""
    config["trainer"] = {"use_v1": True, **trainer}
    with pytest.raises(ConfigError) as caught:
        read_run_config(config)
    return int(str(caught.value).split(" rollouts can wait")[0].rpartition(" ")[2])


def test_rollouts_in_flight_of_the_older_trainer() -> None:
    """Its data loader's batch, which gen_batch_size may set."""
    config = changed("data.gen_batch_size", 192)
    assert in_flight(config, use_v1=False) == 192 * 8
    read_run_config({**config, "trainer": {"use_v1": True}})  # fetched there in several parts
    config["data"] = {"train_batch_size": 512, "gen_batch_size": None}
    assert in_flight(config, use_v1=False) == 512 * 8


def test_rollouts_in_flight_of_the_synchronous_trainer() -> None:
    config = changed("algorithm.filter_groups", {"enable": True, "max_inflight_gen_batches": 3})
    assert in_flight(config) == 3 * 64 * 8
    config["algorithm"]["filter_groups"]["enable"] = False
    read_run_config(config)


def test_rollouts_in_flight_of_asynchronous_trainers() -> None:
    config = changed("data.train_batch_size", 100)
    read_run_config(config)
    for mode in ("separate_async", "colocate_async"):
        v1 = {"trainer_mode": mode, mode: {"num_warmup_batches": 1.505}}
        assert in_flight(config, v1=v1) == (100 + 150) * 8
    config["skip"] = {"rollout_tq": {"enable": True}}
    read_run_config(config)
    config = changed("trainer.v1", {"trainer_mode": "separate_async"})
    config["trainer"]["v1"]["separate_async"] = {"num_warmup_batches": NAN}
    with pytest.raises(ConfigError, match="num_warmup_batches=1"):
        read_run_config(config)


def colocated(**trainer: Any) -> dict[str, Any]:
    config = changed("reward.reward_model", {"enable": True, "enable_resource_pool": False})
    config["reward"]["custom_reward_function"] = {"path": "reward.py"}
    config["trainer"].update(trainer)
    return config


def test_a_colocated_reward_model_cannot_tell_validation() -> None:
    """Its rows have the prompt alone, so validation would be taken for training."""
    never = {"val_before_train": False, "test_freq": -1}
    for trainer in ({}, {**never, "val_before_train": True}, {**never, "test_freq": 5}):
        with pytest.raises(ConfigError, match=r"trainer\.val_before_train=False trainer\.test_f"):
            read_run_config(colocated(**trainer))
    config = colocated(**never)
    read_run_config(config)
    config["data"]["train_batch_size"] = 1024  # one call a worker, however many rows
    with pytest.raises(ConfigError, match=r"^.*set \+reward\S*\.batch_wait_s=41$"):
        read_run_config(config)
    config["reward"]["rankbuffer"]["rendezvous"] = {"batch_wait_s": 41}
    read_run_config(config)
    config["reward"]["num_workers"] = 2
    with pytest.raises(ConfigError, match=r"set reward\.num_workers=1"):
        read_run_config(config)
    config["reward"]["reward_model"]["enable_resource_pool"] = True
    config["data"]["train_batch_size"] = 64
    read_run_config(config)
    read_run_config(colocated(use_v1=False))  # rows of the older trainer carry all columns


def test_the_cap_is_1000_calls_a_worker() -> None:
    assert fits(1000, 1)
    assert not fits(1001, 1)
    assert not fits(2000, 2)  # random choices are not even
    assert fits(2000, 3)


def test_a_yaml_file_and_overrides_on_top(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    path = tmp_path / "rb.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "method": {"name": "rankbuffer", "k0": 7},
                "judge": {"base_url": "http://a/v1", "model": "m"},
                "rendezvous": {"deadline_s": 60},
            }
        )
    )
    got = Settings.from_mapping({"config": str(path), "judge": {"model": "other"}})
    assert got.scorer.method == rb.RankBuffer(k0=7)
    assert got.scorer.judge == rb.Judge(base_url="http://a/v1", model="other")
    assert got.rendezvous.deadline_s == 60
    path.write_text("- a list")
    with pytest.raises(ConfigError, match="one mapping"):
        Settings.from_mapping({"config": str(path)})


def test_what_will_be_resumed(tmp_path: Path) -> None:
    def step(**trainer: Any) -> int:
        return resumed_step(trainer, tmp_path).step

    assert step() == step(resume_mode="auto") == 0
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("6")
    assert step() == 0  # verl starts afresh when the directory is gone
    (tmp_path / "global_step_6").mkdir()
    assert step() == 6
    assert step(resume_mode="disable") == 0
    there = str(tmp_path / "global_step_6")
    assert step(resume_mode="resume_path", resume_from_path=there) == 6
    with pytest.raises(ConfigError, match="there is no directory /x/global_step_4"):
        step(resume_mode="resume_path", resume_from_path="/x/global_step_4")
    with pytest.raises(ConfigError, match="resume_from_path"):
        step(resume_mode="resume_path", resume_from_path="/x/step_4")
    with pytest.raises(ConfigError, match="default_local_dir"):
        root_of({})
    assert root_of({"default_local_dir": "a"}) == Path.cwd() / "a"
