"""A run that was killed anywhere comes back exactly as it was at the step it resumes."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import world
from trainee import QUERIES, SAVE_EVERY, Run

from rankbuffer.errors import CheckpointError
from rankbuffer.verl import layout, tracker

END = 8
Go = Callable[[Any], Any]


States = dict[int, dict[str, Any]]
_TRUTH: dict[bool, States] = {}


@pytest.fixture(autouse=True, scope="module")
def _record() -> None:
    async def record(steps: bool) -> None:
        states = _TRUTH[steps] = {}
        with TemporaryDirectory() as root:
            run = Run(Path(root), world.plan(steps=steps), 1)
            states[0] = run.buffers()
            for step in range(1, END + 1):
                await run.train(step)
                states[step] = run.buffers()
            await run.close()

    for steps in (True, False):
        asyncio.run(record(steps))


def truth(steps: bool = True) -> States:
    """The buffers after every step of a run that nobody interrupts.

    ``steps``: whether rows carry their step, which anchors then show.
    """
    return _TRUTH[steps]


def child(root: Path, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            sys.executable,
            str(Path(__file__).parent / "trainee.py"),
            json.dumps({"root": str(root), "owners": 1, "until": END, **options}),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )


async def check(root: Path, owners: int, *, steps: bool = True) -> int:
    """Resumes, compares, trains on to the end, compares again. Returns the resumed step."""
    run = Run(root, world.plan(steps=steps), owners)
    resumed = run.step
    assert run.buffers() == truth(steps)[resumed]
    await run.train(END)
    assert run.buffers() == truth(steps)[END]
    await run.close()
    return resumed


@pytest.mark.parametrize("seed", range(20))
def test_killed_at_any_moment(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    owners = rng.choice([1, 2, 3])
    steps = rng.random() < 0.5  # rows of the newer trainer carry their step
    callback = steps and rng.random() < 0.7
    judge = {"latency_ms": rng.choice([0, 2, 8])}
    with child(tmp_path, owners=owners, steps=steps, callback=callback, judge=judge) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.random() * 0.5)
        process.kill()
    asyncio.run(check(tmp_path, rng.choice([1, 2, 4]), steps=steps))


@pytest.mark.parametrize("steps", [True, False])
@pytest.mark.parametrize("owners", [1, 2])
def test_killed_between_tracker_and_callback(owners: int, steps: bool, tmp_path: Path) -> None:
    with child(tmp_path, owners=owners, between=4, steps=steps) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "global_step_4" / "rankbuffer").exists()
    assert asyncio.run(check(tmp_path, 3, steps=steps)) == 4


def test_killed_at_every_file_operation_of_a_checkpoint(tmp_path: Path) -> None:
    """Before each of them, hence after the one before."""
    deaths = 0
    for operation in range(1, 200):
        root = tmp_path / str(operation)
        root.mkdir()
        with child(root, owners=1, operation=operation, until=SAVE_EVERY * 2) as process:
            process.communicate()
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
        deaths += 1
        asyncio.run(check(root, 1 + operation % 3))
    assert 15 < deaths < 199


def test_goes_on_beyond_the_checkpoint_and_dies(run: Go, tmp_path: Path) -> None:
    async def beyond() -> None:
        first = Run(tmp_path, world.plan(), 2)
        await first.train(4)
        await first.groups(5)  # groups of a step that no checkpoint holds
        for owner in first.owners:
            owner._scorer.close()  # as if it had died
        assert await check(tmp_path, 3) == 4

    run(beyond())


def test_a_lineage_that_was_left(run: Go, tmp_path: Path) -> None:
    """Trained to 6, gone back to 2, died while saving 4 again: 4 is that of the second run."""

    async def left() -> None:
        first = Run(tmp_path, world.plan(), 1)
        await first.train(6)
        await first.close()
        at = tracker.Resume(step=2, directory=tmp_path / "global_step_2")
        second = Run(tmp_path, world.plan(), 1)
        for owner in second.owners:
            await owner.close()
        from rankbuffer.verl.owner import Owner

        second.owners = [Owner(world.plan(), tmp_path, at, "second", 0, 1)]
        assert second.buffers() == truth()[2]
        await second.groups(30)  # other texts than the first time
        changed = second.buffers()
        time.sleep(0.01)
        world.save_model(tmp_path, 4)
        second.owners[0]._scorer.close()
        third = Run(tmp_path, world.plan(steps=False), 2)  # "mark" cuts the journal here
        assert third.step == 4
        assert third.buffers() == changed
        await third.close()

    run(left())


def test_an_owner_that_is_restarted_has_everything(run: Go, tmp_path: Path) -> None:
    async def restart() -> None:
        first = Run(tmp_path, world.plan(), 2, name="one")
        await first.train(5)  # one step beyond the last checkpoint
        for owner in first.owners:
            owner._scorer.close()
        for _ in range(2):  # and again
            again = Run(tmp_path, world.plan(), 2, name="one")
            assert again.buffers() == truth()[5]
            for owner in again.owners:
                owner._scorer.close()
        again = Run(tmp_path, world.plan(), 2, name="one")
        again.step = 5
        await again.train(END)
        assert again.buffers() == truth()[END]
        await again.close()
        assert await check(tmp_path, 1) == END

    run(restart())


def test_asynchronous_updates_before_the_save_stay_and_none_comes_twice(
    run: Go, tmp_path: Path
) -> None:
    plan = world.plan(asynchronous=True)

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
        first = Run(tmp_path, world.plan(), 2)

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
            again = Run(tmp_path, world.plan(), 3)
            await again.close()
        assert len(list((tmp_path / layout.HOME).iterdir())) == 1

    run(long())


def test_asynchronous_saving_keeps_what_the_tracker_still_names(run: Go, tmp_path: Path) -> None:
    """The callback comes before the tracker is written: a death in between resumes the older."""

    async def saving() -> None:
        first = Run(tmp_path, world.plan(), 1)
        await first.train(2)
        (tmp_path / "global_step_2" / "rankbuffer" / "MANIFEST.json").unlink()
        await first.groups(3)
        await first.groups(4)
        world.save_model(tmp_path, 4, tracker=False)
        assert first.owners[0].checkpoint(4) is None
        first.owners[0]._scorer.close()
        assert await check(tmp_path, 2) == 2

    run(saving())


def test_no_way_back_is_refused(run: Go, tmp_path: Path) -> None:
    async def lose() -> None:
        first = Run(tmp_path, world.plan(), 1)
        await first.train(6)
        await first.close()
        (tmp_path / "latest_checkpointed_iteration.txt").write_text("2")
        (tmp_path / "global_step_2" / "rankbuffer" / "MANIFEST.json").unlink()
        with pytest.raises(CheckpointError, match="on_missing=fresh"):
            Run(tmp_path, world.plan(), 1)
        fresh = Run(tmp_path, world.plan(on_missing="fresh"), 1)
        assert fresh.buffers() == dict.fromkeys(QUERIES, "null")
        await fresh.close()

    run(lose())


def test_a_first_resume_without_files_starts_afresh(run: Go, tmp_path: Path) -> None:
    world.save_model(tmp_path, 4)

    async def start() -> None:
        first = Run(tmp_path, world.plan(), 1)
        assert first.step == 4
        assert first.buffers() == dict.fromkeys(QUERIES, "null")
        await first.close()

    run(start())


def test_a_checkpoint_that_cannot_be_written_stops_nothing(run: Go, tmp_path: Path) -> None:
    async def blocked() -> None:
        first = Run(tmp_path, world.plan(), 1)
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
