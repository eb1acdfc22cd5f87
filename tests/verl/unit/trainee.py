"""A trainer that steps, saves and dies: run as a program, killed by its tests.

Its only state is the buffers. What it does in a step depends on the step alone,
so that a run that was interrupted must end up where one that was not does.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import world

from rankbuffer.verl import tracker
from rankbuffer.verl.owner import Owner
from rankbuffer.verl.validate import Plan

QUERIES = [f"query {i}" for i in range(6)]
SAVE_EVERY = 2


def shard_of(query: str, count: int) -> int:
    import zlib

    return zlib.crc32(query.encode()) % count


class Run:
    """One run of the trainer, from its start or resume to its end or death."""

    def __init__(
        self, root: Path, plan: Plan, owners: int, *, callback: bool = True, name: str = ""
    ) -> None:
        self.root = root
        self.plan = plan
        self.callback = callback
        at = tracker.resume({"resume_mode": "auto"}, root)
        self.step = at.step
        name = name or os.urandom(6).hex()
        self.owners = [Owner(plan, root, at, name, i, owners) for i in range(owners)]

    async def train(
        self, until: int, after_tracker: Callable[[int], None] = lambda step: None
    ) -> None:
        while self.step < until:
            self.step += 1
            await self.groups(self.step)
            if self.step % SAVE_EVERY == 0:
                world.save_model(self.root, self.step)
                after_tracker(self.step)
                if self.callback:
                    for owner in self.owners:
                        problem = owner.checkpoint(self.step)
                        assert problem is None, problem

    async def groups(self, step: int, uid: str = "") -> list[Any]:
        """One group of each query, all at once."""
        number = step if self.plan.steps_in_rows else None
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


def kill_at(operation: int) -> None:
    """Kills this process right before the n-th file operation of its checkpoints."""
    count = 0

    def lethal(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count == operation:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)

        return call

    from rankbuffer import Scorer

    Scorer.journal = lethal(Scorer.journal)  # type: ignore[method-assign]
    for name in ("link", "rename", "replace", "unlink", "mkdir", "fsync"):
        setattr(os, name, lethal(getattr(os, name)))


def main() -> None:
    options = json.loads(sys.argv[1])
    plan = world.plan(steps=options.get("steps", True), judge_options=options.get("judge"))
    run = Run(
        Path(options["root"]), plan, options["owners"], callback=options.get("callback", True)
    )
    if "operation" in options:
        kill_at(options["operation"])

    def between(step: int) -> None:
        if step == options.get("between"):
            os.kill(os.getpid(), signal.SIGKILL)

    print("ready", flush=True)
    asyncio.run(run.train(options["until"], between))
    print("done", flush=True)
    time.sleep(0 if "operation" in options else 60)


if __name__ == "__main__":
    main()
