"""kill -9 of a trainer: in groups, in checkpoints, and between any two of their file operations."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import world
from trainee import QUERIES, SAVE_EVERY, Run
from truth import END, check


def killed(root: Path, **options: Any) -> bool:
    """Runs a trainer. Whether it was killed; otherwise it has come to its end."""
    done = subprocess.run(
        [
            sys.executable,
            str(Path(__file__).parent / "trainee.py"),
            json.dumps({"root": str(root), "owners": 1, "until": END, **options}),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        timeout=120,
    )
    assert done.returncode in (0, -signal.SIGKILL)
    return done.returncode != 0


@pytest.mark.parametrize("seed", range(24))
def test_killed_at_any_moment(seed: int, tmp_path: Path) -> None:
    """In the middle of groups, and of checkpoints: always before its end."""
    rng = random.Random(seed)
    steps = rng.random() < 0.5  # rows of the newer trainer carry their step
    options = {
        "owners": rng.choice([1, 2, 3]),
        "steps": steps,
        "callback": steps and rng.random() < 0.7,
        "at_once": rng.random() < 0.5,
        "judge": {"latency_ms": rng.choice([0, 2, 8])},
    }
    rollouts = END * len(QUERIES) * 4
    moment = rng.choice(["rollout", "outcome", "operation"])
    options[moment] = rng.randrange(1, 40 if moment == "operation" else rollouts)
    owners = rng.choice([1, 2, 4])
    print(f"seed {seed}: killed with {options}, resumed with {owners} owners")
    assert killed(tmp_path, **options), "it was to die on its way"
    asyncio.run(check(tmp_path, owners, steps=steps))


@pytest.mark.parametrize("steps", [True, False])
@pytest.mark.parametrize("owners", [1, 2])
def test_killed_between_step_file_and_callback(owners: int, steps: bool, tmp_path: Path) -> None:
    assert killed(tmp_path, owners=owners, between=4, steps=steps)
    assert not (tmp_path / "global_step_4" / "rankbuffer").exists()
    assert asyncio.run(check(tmp_path, 3, steps=steps)) == 4


@pytest.mark.parametrize(("owners", "at_once"), [(1, False), (2, False), (2, True)])
def test_killed_at_every_file_operation_of_a_checkpoint(
    owners: int, at_once: bool, tmp_path: Path
) -> None:
    """Before each of them, hence after the one before. Of the second, which prunes the first."""
    deaths = 0
    for operation in range(1, 200):
        root = tmp_path / str(operation)
        root.mkdir()
        options = {"owners": owners, "at_once": at_once, "until": SAVE_EVERY * 2}
        if not killed(root, operation=operation, after=SAVE_EVERY, **options):
            break
        deaths += 1
        asyncio.run(check(root, 1 + operation % 3))
    print(f"{deaths} deaths")
    assert 10 * owners < deaths < 199


def test_killed_at_every_file_operation_of_a_resume(tmp_path: Path) -> None:
    """Of one that has to put the buffers of its step beside the model."""
    dead = tmp_path / "dead"
    assert killed(dead, owners=2, between=4)
    deaths = 0
    for operation in range(1, 200):
        root = tmp_path / str(operation)
        shutil.copytree(dead, root)
        if not killed(root, owners=2, operation=operation, resuming=True, until=4):
            break
        deaths += 1
        assert asyncio.run(check(root, 1 + operation % 3)) == 4
    print(f"{deaths} deaths")
    assert 20 < deaths < 199


@pytest.mark.parametrize("owners", [1, 2])
def test_owners_killed_at_every_file_operation_of_their_start(owners: int, tmp_path: Path) -> None:
    """They come back in the same run, and what they save counts."""
    seed = tmp_path / "seed"
    assert not killed(seed, until=4)
    shutil.rmtree(seed / "global_step_4" / "rankbuffer")
    deaths = 0
    for operation in range(1, 200):
        root = tmp_path / str(operation)
        shutil.copytree(seed, root)
        options = {"owners": owners, "name": "second", "resuming": True, "until": 4}
        if not killed(root, operation=operation, **options):
            break
        deaths += 1
        asyncio.run(_comes_back(root, owners, 1 + operation % 3))
    print(f"{deaths} deaths")
    assert 10 * owners < deaths < 199


async def _comes_back(root: Path, owners: int, later: int) -> None:
    run = Run(root, world.run_config(), owners, name="second")
    await run.train(5)
    await run.groups(6)
    world.save_model(root, 6)
    await run.close()  # before anything of step 6 is saved
    assert not [path for path in root.rglob("shard-*/*") if path.name.endswith(".tmp")]
    assert await check(root, later) == 6
