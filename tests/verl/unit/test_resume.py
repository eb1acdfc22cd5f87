"""A run that stopped anywhere comes back exactly as it was at the step it resumes."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import world
from trainee import QUERIES, SAVE_EVERY, Run
from truth import END, check, complete, truth, unfinished

from rankbuffer.errors import CheckpointError, ConfigError
from rankbuffer.verl.config.settings import Settings
from rankbuffer.verl.files import layout, owner_checkpoints, runs, trainer_checkpoints
from rankbuffer.verl.files.beside_model import copy_beside_model, saved_by
from rankbuffer.verl.owner import Owner

Go = Callable[[Any], Any]


def test_owners_that_save_at_once_finish_every_checkpoint(
    run: Go, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Barrier(3)

    def at_once(*args: Any) -> None:
        gate.wait(30)
        copy_beside_model(*args)

    monkeypatch.setattr(owner_checkpoints, "copy_beside_model", at_once)

    async def save() -> None:
        first = Run(tmp_path, world.run_config(), 3)
        for step in range(1, 41):
            world.save_model(tmp_path, step)
            first.step = step
            await first.save()
            complete(tmp_path, step)
        assert unfinished(tmp_path) == []
        await first.close()

    run(save())


@pytest.mark.parametrize("directories_stay", [False, True])
def test_an_owner_that_outlives_its_job_saves_no_more(
    directories_stay: bool,
    run: Go,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The next run's step file is none of its business. NFS keeps directories of open files."""

    def remove_files(path: Path, ignore_errors: bool = False) -> None:
        for file in path.rglob("*"):
            if file.is_file():
                file.unlink()

    if directories_stay:
        monkeypatch.setattr(runs.shutil, "rmtree", remove_files)

    async def outlives() -> None:
        old = Run(tmp_path, world.run_config(), 1, name="old")
        await old.train(2)
        await old.groups(30)
        new = Run(tmp_path, world.run_config(), 1, name="new")
        await new.train(4)
        for _ in range(2):
            old.owners[0]._checkpoints.look()
        assert old.owners[0].checkpoint(5) == "a later run of the trainer saves here"
        assert saved_by(tmp_path / "global_step_4" / "rankbuffer") == "new"
        for owner in [*old.owners, *new.owners]:
            owner._scorer.close()

    run(outlives())
    monkeypatch.undo()
    assert caplog.text.count("a later run of the trainer") == 1
    assert run(check(tmp_path, 2)) == 4


def test_goes_on_beyond_the_checkpoint_and_dies(run: Go, tmp_path: Path) -> None:
    async def beyond() -> None:
        first = Run(tmp_path, world.run_config(), 2)
        await first.train(4)
        await first.groups(5)  # groups of a step that no checkpoint holds
        for owner in first.owners:
            owner._scorer.close()  # as if it had died
        assert await check(tmp_path, 3) == 4

    run(beyond())


@pytest.mark.parametrize("dies", [False, True])
def test_a_lineage_that_was_left(
    dies: bool, run: Go, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trained to 6, gone back to 2, died while saving 4 again: 4 is that of the second run.

    So it stays for whoever resumes 4 again, and if the third died before saying so.
    """

    async def left() -> None:
        first = Run(tmp_path, world.run_config(), 1)
        await first.train(6)
        await first.close()
        at = trainer_checkpoints.Resume(step=2, directory=tmp_path / "global_step_2")
        second = Run(tmp_path, world.run_config(), 1)
        for owner in second.owners:
            await owner.close()
        second.owners = [Owner(world.run_config(), tmp_path, at, "second", 0, 1)]
        assert second.buffers() == truth()[2]
        await second.groups(30)  # other texts than the first time
        changed = second.buffers()
        time.sleep(0.01)
        world.save_model(tmp_path, 4)
        second.owners[0]._scorer.close()
        with monkeypatch.context() as patch:
            if dies:
                patch.setattr(owner_checkpoints, "copy_beside_model", lambda *args: None)
            third = Run(
                tmp_path, world.run_config(steps=False), 2
            )  # after_checkpoint cuts the journal here
        assert third.step == 4
        assert third.buffers() == changed
        for owner in third.owners:
            owner._scorer.close()  # dies before it saves anything
        fourth = Run(tmp_path, world.run_config(), 1)
        assert fourth.step == 4
        assert fourth.buffers() == changed
        await fourth.close()

    run(left())


def test_an_owner_that_is_restarted_has_everything(run: Go, tmp_path: Path) -> None:
    async def restart() -> None:
        first = Run(tmp_path, world.run_config(), 2, name="one")
        await first.train(5)  # one step beyond the last checkpoint
        for owner in first.owners:
            owner._scorer.close()
        for _ in range(2):  # and again
            again = Run(tmp_path, world.run_config(), 2, name="one")
            assert again.buffers() == truth()[5]
            for owner in again.owners:
                owner._scorer.close()
        again = Run(tmp_path, world.run_config(), 2, name="one")
        again.step = 5
        await again.train(END)
        assert again.buffers() == truth()[END]
        await again.close()
        assert await check(tmp_path, 1) == END

    run(restart())


def test_asynchronous_updates_before_the_save_stay_and_none_comes_twice(
    run: Go, tmp_path: Path
) -> None:
    plan = world.run_config(asynchronous=True)

    async def reissue() -> None:
        first = Run(tmp_path, plan, 2)
        await first.groups(1, uid="finished")
        world.save_model(tmp_path, 2)
        for owner in first.owners:
            owner.checkpoint(2)
        saved = first.buffers()
        await first.groups(2, uid="in-flight")  # applied after the save, lost with it
        assert first.buffers() != saved
        for owner in first.owners:
            owner._scorer.close()
        second = Run(tmp_path, plan, 1)
        assert second.buffers() == saved
        await second.groups(3, uid="finished")  # would be applied a second time
        assert second.buffers() == saved
        await second.groups(2, uid="in-flight")
        assert second.buffers() == wanted
        await second.close()

    async def straight() -> dict[str, Any]:
        with TemporaryDirectory() as root:
            one = Run(Path(root), plan, 1)
            await one.groups(1, uid="finished")
            await one.groups(2, uid="in-flight")
            found = one.buffers()
            await one.close()
            return found

    wanted = run(straight())
    run(reissue())


def test_old_checkpoints_take_ours_with_them(run: Go, tmp_path: Path) -> None:
    """All but the newest checkpoint lose their ``actor``; nothing of ours may pile up."""

    def sizes() -> tuple[int, int]:
        home = [p for p in (tmp_path / layout.HOME).rglob("*") if p.is_file()]
        return len(home), len(list(tmp_path.glob("global_step_*/rankbuffer")))

    async def long() -> None:
        first = Run(tmp_path, world.run_config(), 2)

        def keep_one(step: int) -> None:
            old = tmp_path / f"global_step_{step - SAVE_EVERY}" / "actor"
            if old.exists():
                old.rmdir()

        counts = []
        for step in range(2, 21, 2):
            await first.train(step, keep_one)
            counts.append(sizes())
        assert counts[1:] == counts[1:2] * (len(counts) - 1)
        assert counts[-1][1] == 1
        await first.close()
        for _ in range(3):
            again = Run(tmp_path, world.run_config(), 3)
            await again.close()
        assert len(list((tmp_path / layout.HOME).iterdir())) == 1

    run(long())


def test_asynchronous_saving_keeps_what_the_step_file_still_names(run: Go, tmp_path: Path) -> None:
    """The callback comes before the step file is written: a death in between resumes the older."""

    async def saving() -> None:
        first = Run(tmp_path, world.run_config(), 1)
        await first.train(2)
        (tmp_path / "global_step_2" / "rankbuffer" / "MANIFEST.json").unlink()
        await first.groups(3)
        await first.groups(4)
        world.save_model(tmp_path, 4, step_file=False)
        assert first.owners[0].checkpoint(4) is None
        first.owners[0]._scorer.close()
        assert await check(tmp_path, 2) == 2

    run(saving())


def test_a_model_elsewhere_gets_nothing_here(run: Go, tmp_path: Path) -> None:
    """``resume_from_path`` names step 4 of another directory; ours has a step 4 of its own."""
    here, there = tmp_path / "here", tmp_path / "there"

    async def elsewhere() -> None:
        for root in (here, there):
            first = Run(root, world.run_config(), 1)
            await first.train(4)
            await first.close()
        shutil.rmtree(there / "global_step_4" / "rankbuffer")
        shutil.rmtree(here / "global_step_4" / "rankbuffer")
        at = trainer_checkpoints.Resume(step=4, directory=there / "global_step_4")
        made = Owner(world.run_config(), here, at, "other")
        assert json.dumps(made.buffer(QUERIES[0]), sort_keys=True) == truth()[4][QUERIES[0]]
        assert not (here / "global_step_4" / "rankbuffer").exists()
        assert not (there / "global_step_4" / "rankbuffer").exists()
        await made.close()

    run(elsewhere())


def test_empty_buffers_are_not_put_beside_a_model_that_had_some(run: Go, tmp_path: Path) -> None:
    async def fresh() -> None:
        first = Run(tmp_path, world.run_config(), 1)
        await first.train(4)
        await first.close()
        shutil.rmtree(tmp_path / "global_step_4" / "rankbuffer")
        for path in (tmp_path / layout.HOME).glob("run-*/shard-*/*"):
            path.unlink()
        again = Run(tmp_path, world.run_config(on_missing="fresh"), 1)
        assert again.step == 4
        assert again.buffers() == dict.fromkeys(QUERIES, "null")
        assert not (tmp_path / "global_step_4" / "rankbuffer").exists()
        await again.close()

    run(fresh())


def test_checkpoints_lie_beside_the_models_and_nowhere_else() -> None:
    judge = {"base_url": "http://127.0.0.1:9/v1", "model": "m"}
    Settings.from_mapping({"judge": judge, "checkpoint": {"on_missing": "fresh"}})
    with pytest.raises(ConfigError, match=r"checkpoint\.dir: unknown option, known are on_missing"):
        Settings.from_mapping({"judge": judge, "checkpoint": {"dir": "/elsewhere"}})


def test_no_way_back_is_refused(run: Go, tmp_path: Path) -> None:
    async def lose() -> None:
        first = Run(tmp_path, world.run_config(), 1)
        await first.train(6)
        await first.close()
        (tmp_path / "latest_checkpointed_iteration.txt").write_text("2")
        (tmp_path / "global_step_2" / "rankbuffer" / "MANIFEST.json").unlink()
        with pytest.raises(CheckpointError, match="on_missing=fresh"):
            Run(tmp_path, world.run_config(), 1)
        fresh = Run(tmp_path, world.run_config(on_missing="fresh"), 1)
        assert fresh.buffers() == dict.fromkeys(QUERIES, "null")
        await fresh.close()

    run(lose())


def test_a_step_without_buffers_is_resumed_where_that_is_wanted(run: Go, tmp_path: Path) -> None:
    world.save_model(tmp_path, 4)
    with pytest.raises(CheckpointError, match=r"no buffers of step 4 .*on_missing=fresh"):
        Run(tmp_path, world.run_config(), 1)

    async def start() -> None:
        first = Run(tmp_path, world.run_config(on_missing="fresh"), 1)
        assert first.step == 4
        assert first.buffers() == dict.fromkeys(QUERIES, "null")
        await first.close()

    run(start())


def test_a_failed_save_is_not_made_up_for_with_later_updates(run: Go, tmp_path: Path) -> None:
    """Step 4 could not be saved, training went on, and then the owner died and came back."""

    async def failed() -> None:
        first = Run(tmp_path, world.run_config(), 1, name="one")
        await first.train(3)
        shard = next((tmp_path / layout.HOME).glob("run-*/shard-*"))
        await first.groups(4)
        shard.rename(shard.with_name("gone"))
        world.save_model(tmp_path, 4)
        assert first.owners[0].checkpoint(4) is not None
        shard.with_name("gone").rename(shard)
        await first.groups(5)
        first.owners[0]._scorer.close()
        again = Run(tmp_path, world.run_config(), 1, name="one")
        assert again.buffers() == truth()[5]
        await again.groups(6)
        assert again.buffers() == truth()[6]
        again.owners[0]._scorer.close()
        assert await check(tmp_path, 2) == 4

    run(failed())


def test_a_death_before_a_save_is_made_up_for(run: Go, tmp_path: Path) -> None:
    """The owner died while step 4 was saved and nothing came after it: it saves it now."""

    async def died() -> None:
        first = Run(tmp_path, world.run_config(), 1, name="one")
        await first.train(3)
        await first.groups(4)
        world.save_model(tmp_path, 4)
        first.owners[0]._scorer.close()
        again = Run(tmp_path, world.run_config(), 1, name="one")
        await again.groups(5)
        assert again.buffers() == truth()[5]
        again.owners[0]._scorer.close()
        assert (tmp_path / "global_step_4" / "rankbuffer" / "MANIFEST.json").exists()
        assert await check(tmp_path, 2) == 4

    run(died())


@pytest.mark.parametrize("owners", [1, 2])
def test_a_death_before_the_buffers_are_beside_the_model(
    owners: int, run: Go, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One owner died with its base written: its next life puts it there."""

    async def died() -> None:
        first = Run(tmp_path, world.run_config(), owners, name="one")
        await first.train(3)
        await first.groups(4)
        world.save_model(tmp_path, 4)
        for owner in first.owners[1:]:
            assert owner.checkpoint(4) is None
        with monkeypatch.context() as patch:
            patch.setattr(os, "link", lambda *args: exec("raise OSError(5, 'died')"))
            patch.setattr(shutil, "copyfile", lambda *args: exec("raise OSError(5, 'died')"))
            assert "died" in (first.owners[0].checkpoint(4) or "")
            assert "died" in (first.owners[0].checkpoint(4) or "")  # whoever asks again
        assert not (tmp_path / "global_step_4" / "rankbuffer").exists()
        for owner in first.owners:
            owner._scorer.close()
        again = Run(tmp_path, world.run_config(), owners, name="one")
        complete(tmp_path, 4)
        assert again.buffers() == truth()[4]
        await again.close()

    run(died())


def test_a_checkpoint_that_cannot_be_written_stops_nothing(run: Go, tmp_path: Path) -> None:
    async def blocked() -> None:
        first = Run(tmp_path, world.run_config(), 1)
        await first.train(2)
        home = next((tmp_path / layout.HOME).glob("run-*/shard-*"))
        home.rename(home.with_name("gone"))
        world.save_model(tmp_path, 3)
        assert "shard-0-of-1" in (first.owners[0].checkpoint(3) or "")
        await first.groups(3)  # the journal that is open goes on
        home.with_name("gone").rename(home)
        await first.groups(4)
        first.step = 4
        world.save_model(tmp_path, 4)
        assert first.owners[0].checkpoint(4) is None
        assert first.buffers() == truth()[4]
        await first.close()
        assert await check(tmp_path, 2) == 4

    run(blocked())
