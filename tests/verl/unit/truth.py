"""The buffers that a run must have, and how a resume is held against them."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import world
from trainee import SAVE_EVERY, Run

from rankbuffer.verl.files import layout
from rankbuffer.verl.files.beside_model import shards_of

END = 8

States = dict[int, dict[str, Any]]


@cache
def truth(steps: bool = True) -> States:
    """The buffers after every step of a run that nobody interrupts.

    ``steps``: whether rows carry their step, which anchors then show.
    """
    with ThreadPoolExecutor(1) as apart:  # the caller may be on an event loop
        return apart.submit(asyncio.run, _straight(steps)).result()


async def _straight(steps: bool) -> States:
    with TemporaryDirectory() as root:
        run = Run(Path(root), world.run_config(steps=steps), 1)
        states = {0: run.buffers()}
        for step in range(1, END + 1):
            await run.train(step)
            states[step] = run.buffers()
        await run.close()
    return states


async def check(root: Path, owners: int, *, steps: bool = True) -> int:
    """Resumes, compares, trains on to the end, compares again. Returns the resumed step."""
    run = Run(root, world.run_config(steps=steps), owners)
    resumed = run.step
    assert run.buffers() == truth(steps)[resumed]
    if resumed:
        complete(root, resumed)
    assert unfinished(root) == []
    await run.train(END)
    assert run.buffers() == truth(steps)[END]
    await run.close()
    for step in range(resumed + SAVE_EVERY, END + 1, SAVE_EVERY):
        complete(root, step)
    assert unfinished(root) == []
    return resumed


def complete(root: Path, step: int) -> None:
    """Asserts that the model of a step has its buffers beside it."""
    shards = shards_of(root / f"global_step_{step}" / layout.HOME)
    assert shards, f"step {step} has no buffers"


def unfinished(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.name.endswith((".tmp", ".old"))]
