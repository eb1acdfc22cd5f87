"""A trainer that steps, saves and dies: run as a program, killed by its tests.

Its only state is the buffers. What it does in a step depends on the step alone,
so that a run that was interrupted must end up where one that was not does.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import world

from rankbuffer.verl.config.run_config import RunConfig
from rankbuffer.verl.files import trainer_checkpoints
from rankbuffer.verl.owner import Owner

QUERIES = [f"query {i}" for i in range(6)]
SAVE_EVERY = 2


def shard_of(query: str, count: int) -> int:
    import zlib

    return zlib.crc32(query.encode()) % count


class Run:
    """One run of the trainer, from its start or resume to its end or death."""

    def __init__(
        self,
        root: Path,
        config: RunConfig,
        owners: int,
        *,
        callback: bool = True,
        at_once: bool = True,
        name: str = "",
    ) -> None:
        """``at_once``: owners save at the same time, as actors do; or one after the other."""
        self.root = root
        self.config = config
        self.callback = callback
        self.at_once = at_once
        at = trainer_checkpoints.resumed_step({"resume_mode": "auto"}, root)
        self.step = at.step
        name = name or os.urandom(6).hex()
        self.owners = [Owner(config, root, at, name, i, owners) for i in range(owners)]

    async def train(
        self, until: int, after_model: Callable[[int], None] = lambda step: None
    ) -> None:
        while self.step < until:
            self.step += 1
            await self.groups(self.step)
            if self.step % SAVE_EVERY == 0:
                world.save_model(self.root, self.step)
                after_model(self.step)
                if self.callback:
                    await self.save()

    async def save(self) -> None:
        if self.at_once:
            saves = (asyncio.to_thread(owner.checkpoint, self.step) for owner in self.owners)
            problems = await asyncio.gather(*saves)
        else:
            problems = [owner.checkpoint(self.step) for owner in self.owners]
        assert not any(problems), problems

    async def groups(self, step: int, uid: str = "") -> list[Any]:
        """One group of each query, all at once."""
        number = step if self.config.steps_in_rows else None
        return await asyncio.gather(
            *(
                self.owners[shard_of(query, len(self.owners))].score(
                    world.rollout(
                        text, uid=f"{uid or step}-{query}", query=query, slot=f"s{i}", step=number
                    )
                )
                for query in QUERIES
                for i, text in enumerate(world.texts(step, query))
            )
        )

    def buffers(self) -> dict[str, Any]:
        """The state, as bytes can be compared."""
        found = {q: self.owners[shard_of(q, len(self.owners))].buffer(q) for q in QUERIES}
        return {q: json.dumps(b, sort_keys=True) for q, b in found.items()}

    async def close(self) -> None:
        for owner in self.owners:
            await owner.close()


class Fuse:
    """Kills this process the n-th time it is touched."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._count = itertools.count(1)  # threads share it

    def touch(self) -> None:
        if next(self._count) == self._n:
            os.kill(os.getpid(), signal.SIGKILL)


def kill_before_operation(fuse: Fuse) -> None:
    """Of the checkpoints: what changes files or directories."""

    def lethal(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            fuse.touch()
            return function(*args, **kwargs)

        return call

    from rankbuffer import Scorer

    Scorer.journal = lethal(Scorer.journal)  # type: ignore[method-assign]
    for name in ("link", "rename", "replace", "unlink", "mkdir", "rmdir", "fsync"):
        setattr(os, name, lethal(getattr(os, name)))


def kill_around_scoring(run: Run, before: Fuse, after: Fuse) -> None:
    """Before the n-th rollout is handed over, or when the n-th outcome is there."""
    for owner in run.owners:

        async def score(rollout: Any, score: Callable[[Any], Any] = owner.score) -> Any:
            before.touch()
            outcome = await score(rollout)
            after.touch()
            return outcome

        owner.score = score  # type: ignore[method-assign]


def main() -> None:
    options = json.loads(sys.argv[1])
    config = world.run_config(steps=options.get("steps", True), judge_options=options.get("judge"))
    if options.get("resuming"):
        kill_before_operation(Fuse(options["operation"]))
    run = Run(
        Path(options["root"]),
        config,
        options["owners"],
        callback=options.get("callback", True),
        at_once=options.get("at_once", True),
        name=options.get("name", ""),
    )
    kill_around_scoring(run, Fuse(options.get("rollout", 0)), Fuse(options.get("outcome", 0)))

    def between(step: int) -> None:
        if step == options.get("between"):
            os.kill(os.getpid(), signal.SIGKILL)

    async def live() -> None:
        await run.train(options.get("after", 0))
        if not options.get("resuming"):
            kill_before_operation(Fuse(options.get("operation", 0)))
        await run.train(options["until"], between)

    asyncio.run(live())


if __name__ == "__main__":
    main()
