"""A configuration that cannot work is refused with the override to write."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import rankbuffer as rb
from rankbuffer.errors import ConfigError
from rankbuffer.verl.settings import Settings
from rankbuffer.verl.tracker import resume, root
from rankbuffer.verl.validate import fits, judge_answers, plan

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


def changed(path: str, value: Any) -> dict[str, Any]:
    config = copy.deepcopy(GOOD)
    at: Any = config
    *names, last = path.split(".")
    for name in names:
        at = at.setdefault(name, {})
    at[last] = value
    return config


def test_a_good_one() -> None:
    got = plan(GOOD)
    assert (got.group_size, got.workers, got.asynchronous, got.steps_in_rows) == (8, 1, False, True)
    assert got.settings.scorer.method == rb.RankBuffer()
    assert plan(changed("trainer.v1.trainer_mode", "colocate_async")).asynchronous
    assert not plan(changed("trainer.use_v1", False)).steps_in_rows


@pytest.mark.parametrize(
    ("path", "value", "override"),
    [
        ("reward.rankbuffer", None, "+reward.rankbuffer.judge.base_url="),
        ("reward.rankbuffer.judge", None, "must be a mapping"),
        ("reward.rankbuffer.jugde", {}, "reward.rankbuffer.jugde: unknown option"),
        ("reward.rankbuffer.method", {"name": "rankbufer"}, "reward.rankbuffer.method.name"),
        ("reward.rankbuffer.method", {"name": "scr", "vote": 2}, "method.scr.vote: unknown"),
        ("reward.rankbuffer.judge.modle", "x", "reward.rankbuffer.judge.modle: unknown"),
        ("reward.rankbuffer.judge.api_key_env", "NO_SUCH_KEY", "NO_SUCH_KEY is not set"),
        ("reward.rankbuffer.rendezvous", {"deadline": 1}, "rendezvous.deadline: unknown"),
        ("reward.rankbuffer.rendezvous", {"deadline_s": -1}, "rendezvous.deadline_s"),
        ("reward.rankbuffer.rendezvous", {"owners": 0}, "rendezvous.owners"),
        ("reward.rankbuffer.rendezvous", {"turns": "some"}, "rendezvous.turns"),
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
        plan(changed(path, value))
    assert override in str(caught.value)


def test_a_pointwise_method_needs_no_group() -> None:
    config = changed("actor_rollout_ref.rollout.n", 1)
    config["reward"]["rankbuffer"]["method"] = "pointwise"
    assert plan(config).group_size == 1


def test_options_alone_are_those_of_the_default_method() -> None:
    method = plan(changed("reward.rankbuffer.method", {"k0": 7})).settings.scorer.method
    assert method == rb.RankBuffer(k0=7)


def test_all_problems_at_once() -> None:
    config = changed("algorithm.adv_estimator", "remax")
    config["reward"]["reward_model"]["enable"] = True
    with pytest.raises(ConfigError) as caught:
        plan(config)
    assert len(str(caught.value).splitlines()) == 2


def test_asynchronous_trainers_have_more_in_flight() -> None:
    config = changed("data.train_batch_size", 100)
    plan(config)
    config["trainer"]["v1"] = {
        "trainer_mode": "separate_async",
        "separate_async": {"num_warmup_batches": 1},
    }
    with pytest.raises(ConfigError, match="1600 rollouts"):
        plan(config)


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


@pytest.fixture
def server() -> Iterator[Any]:
    class Handler(BaseHTTPRequestHandler):
        code = 200

        def do_GET(self) -> None:
            self.send_response(type(self).code)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    made = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    made.handler = Handler  # type: ignore[attr-defined]
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def test_the_judge_is_asked_whether_it_is_there(server: Any) -> None:
    url = f"http://127.0.0.1:{server.server_port}/v1"
    for code, problem in ((200, None), (404, None), (401, "api_key_env")):
        server.handler.code = code
        found = judge_answers(rb.Judge(base_url=url, model="m"))
        assert (problem is None) == (found == []), found
        assert problem is None or problem in found[0]
    assert judge_answers(rb.SimulatedJudge(qualities={})) == []
    found = judge_answers(rb.Judge(base_url=[url, "http://127.0.0.1:9/v1"], model="m"), timeout=2)
    assert "reward.rankbuffer.judge.base_url" in found[-1]
    assert "cannot be reached" in found[-1]


def test_what_will_be_resumed(tmp_path: Path) -> None:
    def step(**trainer: Any) -> int:
        return resume(trainer, tmp_path).step

    assert step() == step(resume_mode="auto") == 0
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("6")
    assert step() == 0  # verl starts afresh when the directory is gone
    (tmp_path / "global_step_6").mkdir()
    assert step() == 6
    assert step(resume_mode="disable") == 0
    assert step(resume_mode="resume_path", resume_from_path="/x/global_step_4") == 4
    with pytest.raises(ConfigError, match="resume_from_path"):
        step(resume_mode="resume_path", resume_from_path="/x/step_4")
    with pytest.raises(ConfigError, match="default_local_dir"):
        root({})
    assert root({"default_local_dir": "a"}) == Path.cwd() / "a"
    assert root({"default_local_dir": "a"}, "/b") == Path("/b")
