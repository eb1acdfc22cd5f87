"""An owner dies and is restarted: its buffers and all rewards are as if it had not. Without Ray."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import world

from rankbuffer.verl.files.trainer_checkpoints import Resume
from rankbuffer.verl.owner import Owner
from rankbuffer.verl.rollout_reward import GROUP_STATUS, RolloutReward
from rankbuffer.verl.rollouts.rows import Rollout

Run = Callable[[Any], Any]
TEXTS = ["t90", "", "t50", "t50"]  # an empty one, and two that wrote the same
LATENCY_MS = 200


class Actor:
    """Does what Ray does for an actor: calls without a result are sent again after a restart."""

    def __init__(self, owner: Owner, answers: Callable[[Rollout], bool]) -> None:
        """``answers``: whether a rollout's result leaves the first owner before it dies."""
        self._owner = self._first = owner
        self._answers = answers
        self._restarted = asyncio.Event()

    def restart(self, owner: Owner) -> None:
        self._owner = owner
        self._restarted.set()

    async def score(self, rollout: Rollout) -> RolloutReward:
        owner = self._owner
        call = asyncio.ensure_future(owner.score(rollout))
        if owner is not self._first:
            return await call
        restarted = asyncio.ensure_future(self._restarted.wait())
        if self._answers(rollout):
            await asyncio.wait([call, restarted], return_when=asyncio.FIRST_COMPLETED)
            if call.done():
                return call.result()
        await restarted
        call.cancel()
        return await self._owner.score(rollout)


async def until(true: Callable[[], bool]) -> None:
    while not true():
        await asyncio.sleep(0.01)


def group(query: str, step: int | None, **options: Any) -> list[Rollout]:
    return [
        world.rollout(text, uid=f"{query}-{step}", query=query, step=step, slot=f"s{i}", **options)
        for i, text in enumerate(TEXTS)
    ]


async def scored(
    score: Callable[[Rollout], Awaitable[RolloutReward]], *rows: Rollout
) -> list[RolloutReward]:
    return await asyncio.gather(*(score(r) for r in rows))


def told(outcomes: list[RolloutReward]) -> list[tuple[float, float, float, int, int]]:
    """What must not depend on when it was told."""
    return [(v.reward, v.rank, v.position, v.status, v.group_status) for v in outcomes]


def uninterrupted(root: Path, run: Run, *groups: list[Rollout]) -> tuple[list[Any], Any]:
    async def go() -> tuple[list[Any], Any]:
        owner = Owner(world.run_config(), root, Resume(), "whole")
        found = [told(await scored(owner.score, *rows)) for rows in groups]
        buffer = owner.buffer(groups[0][0].query.query_id)
        await owner.close()
        return found, buffer

    return run(go())


@pytest.mark.parametrize("step", [1, None])
@pytest.mark.parametrize("half", [False, True])
def test_killed_between_the_journal_and_the_workers(
    tmp_path: Path, run: Run, half: bool, step: int | None
) -> None:
    """The buffer has the group, so its rollouts get their rewards and it is not judged again."""

    async def go() -> tuple[list[RolloutReward], Any]:
        config = world.run_config(workers=2, judge_options={"latency_ms": LATENCY_MS})
        first = Owner(config, tmp_path / "run", Resume(), "run")
        actor = Actor(first, lambda rollout: half and rollout.slot in ("s0", "s2"))
        rows = group("q", step)
        tasks = [asyncio.create_task(actor.score(row)) for row in rows]
        await until(lambda: (first.buffer("q") or {"epochs_seen": []})["epochs_seen"] == [0])
        if half:
            await asyncio.gather(*tasks[::2])
        assert not tasks[1].done()
        second = Owner(config, tmp_path / "run", Resume(), "run")
        actor.restart(second)
        found = await asyncio.gather(*tasks)
        again = await scored(actor.score, rows[0])  # padding
        buffer = second.buffer("q")
        assert second.stats()["journal"]["entries"] == 0  # nothing was judged
        await first.close()
        await second.close()
        return [*found, *again], buffer

    (want,), whole = uninterrupted(tmp_path / "whole", run, group("q", step))
    found, buffer = run(go())
    assert told(found) == [*want, want[0]]
    assert {v.group_status for v in found} == {GROUP_STATUS["ok"]}
    assert buffer == whole


@pytest.mark.parametrize("came", [3, 4])
def test_killed_before_the_journal(tmp_path: Path, run: Run, came: int) -> None:
    """The buffer does not have the group, so it comes together again and is judged again."""

    async def go() -> tuple[list[RolloutReward], list[RolloutReward], Any]:
        slow = world.run_config(workers=2, judge_options={"latency_ms": 2000})
        first = Owner(slow, tmp_path / "run", Resume(), "run")
        actor = Actor(first, lambda rollout: True)
        rows = group("q", 1)
        tasks = [asyncio.create_task(actor.score(row)) for row in rows[:came]]
        await until(lambda: first.stats()["groups_open"] == 1)
        await asyncio.sleep(0.05)
        second = Owner(world.run_config(workers=2), tmp_path / "run", Resume(), "run")
        actor.restart(second)
        tasks += [asyncio.create_task(actor.score(row)) for row in rows[came:]]
        found = await asyncio.gather(*tasks)
        after = await scored(actor.score, *group("q", 2))
        buffer = second.buffer("q")
        first._scorer.close()
        await first.close()
        await second.close()
        return found, after, buffer

    want, whole = uninterrupted(tmp_path / "whole", run, group("q", 1), group("q", 2))
    found, after, buffer = run(go())
    assert [told(found), told(after)] == want
    assert buffer == whole


def test_text_that_the_scorer_refused(tmp_path: Path, run: Run) -> None:
    rows = [
        world.rollout(text, uid="u", slot=f"s{i}")
        for i, text in enumerate(["t90", "bad \ud800", "t50", "t10"])
    ]

    async def go() -> list[list[RolloutReward]]:
        config = world.run_config(workers=2)
        lives = []
        for _ in range(2):
            owner = Owner(config, tmp_path, Resume(), "run")
            lives.append(await scored(owner.score, *rows))
            await owner.close()
        return lives

    first, second = run(go())
    assert told(first) == told(second)
