"""The overrides for verl: `rankbuffer verl-config`."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankbuffer.cli import main
from rankbuffer.errors import ConfigError
from rankbuffer.verl.config.overrides import overrides
from rankbuffer.verl.config.reward_workers import enough_workers, fits


def test_overrides_have_enough_workers() -> None:
    lines = overrides(base_url="http://j/v1", model="m", batch=512, n=16, options={"k0": 7})
    count = enough_workers(512 * 16)
    assert f"reward.num_workers={count}" in lines
    assert fits(8192, count)
    assert not fits(8192, count - 1)
    assert "+reward.rankbuffer.method.k0=7" in lines
    assert enough_workers(100) == 1


def test_side_files_of_train_and_test_data_are_given_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sides = ["train.side.jsonl", "test.side.jsonl"]
    lines = overrides(base_url="http://j/v1", model="m", side_files=sides)
    assert f"+reward.rankbuffer.side_file=[{sides[0]},{sides[1]}]" in lines
    given = ["verl-config", "--side-file", sides[0], "--side-file", sides[1]]
    assert main(given) == 0
    assert f"+reward.rankbuffer.side_file=[{sides[0]},{sides[1]}]" in capsys.readouterr().out


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verl-config", "--model", "org/model", "--option", "k0=2", "--importlib"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "+reward.rankbuffer.judge.model=org/model" in printed
    assert "+reward.rankbuffer.method.k0=2" in printed
    assert "reward.reward_manager.module.path=pkg://rankbuffer.verl" in printed
    assert "trainer.use_v1=False" not in printed
    assert main(["verl-config", "--v0"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "trainer.use_v1=False" in printed
    assert "+hydra.callbacks.rankbuffer._target_=rankbuffer.verl.StartCheck" in printed
    assert main(["verl-config", "a=b"]) == 2
    assert "--check" in capsys.readouterr().err


def test_a_whole_config_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    yaml = pytest.importorskip("yaml")
    config = {
        "reward": {
            "num_workers": 1,
            "reward_manager": {"name": "rankbuffer", "source": "register"},
            "rankbuffer": {"judge": {"base_url": "http://127.0.0.1:9/v1", "model": "m"}},
        },
        "actor_rollout_ref": {"rollout": {"n": 8}},
        "data": {"train_batch_size": 8},
        "trainer": {"use_v1": True, "v1": {"trainer_mode": "sync"}},
    }
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    assert main(["verl-config", "--check", "--config", str(path), "--no-probe"]) == 0
    assert "groups of 8" in capsys.readouterr().out
    assert main(["verl-config", "--check", "--config", str(path)]) == 2
    assert "cannot reach" in capsys.readouterr().err
    config["reward"]["reward_manager"]["name"] = "naive"  # type: ignore[index]
    path.write_text(yaml.safe_dump(config))
    assert main(["verl-config", "--check", "--config", str(path)]) == 2
    assert "reward.reward_manager.name=rankbuffer" in capsys.readouterr().err


def test_overrides_are_read_by_verl() -> None:
    pytest.importorskip("verl")
    from rankbuffer.verl.config.overrides import check

    for importlib in (False, True):
        given = overrides(
            base_url="http://j/v1", model="org/it's a model", importlib=importlib, options={"k0": 7}
        )
        common = ["actor_rollout_ref.model.path=/m", "actor_rollout_ref.rollout.name=vllm"]
        found = check(None, [*common, *given], probe=False)
        assert found.settings.scorer.judge.model == "org/it's a model"  # type: ignore[union-attr]
    with pytest.raises(ConfigError, match="verl's configuration"):
        check(None, ["reward.rankbuffer.judge.model=m"], probe=False)
