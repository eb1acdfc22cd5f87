"""An owner is killed and comes back: each group has one fate, and its buffer the same. No Ray."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import world
from handles import Ray, until

from rankbuffer.verl.actors import link as link_module
from rankbuffer.verl.actors.desk import Desk
from rankbuffer.verl.actors.link import Link
from rankbuffer.verl.files.tracker import Resume
from rankbuffer.verl.owner import Owner
from rankbuffer.verl.rollouts.rows import Rollout
from rankbuffer.verl.verdict import GROUP_STATUS, LOST, Verdict

Run = Callable[[Any], Any]
TEXTS = ["t90", "", "t50", "t50"]  # an empty one, and two that wrote the same
LATENCY_MS = 200


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "_PAUSE_S", 0.01)


class Held(Desk):
    """Verdicts do not leave, but for those of the workers named."""

    def __init__(self, owner: Owner, told: tuple[str, ...] = ()) -> None:
        super().__init__(owner)
        self.told = told

    async def collect(self, worker: str, confirmed: list[int]) -> Any:
        if worker not in self.told:
            await asyncio.sleep(60)
        return await super().collect(worker, confirmed)


def group(query: str, step: int | None, **options: Any) -> list[Rollout]:
    return [
        world.rollout(text, uid=f"{query}-{step}", query=query, step=step, slot=f"s{i}", **options)
        for i, text in enumerate(TEXTS)
    ]


async def scored(score: Callable[[Rollout], Awaitable[Verdict]], *rows: Rollout) -> list[Verdict]:
    return await asyncio.gather(*(score(r) for r in rows))


def told(verdicts: list[Verdict]) -> list[tuple[float, float, float, int, int]]:
    """What must not depend on when it was told."""
    return [(v.reward, v.rank, v.position, v.status, v.group_status) for v in verdicts]


def uninterrupted(root: Path, run: Run, *groups: list[Rollout]) -> tuple[list[Any], Any]:
    async def go() -> tuple[list[Any], Any]:
        owner = Owner(world.plan(), root, Resume(), "whole")
        found = [told(await scored(owner.score, *rows)) for rows in groups]
        buffer = owner.buffer(groups[0][0].query.query_id)
        await owner.close()
        return found, buffer

    return run(go())


@pytest.mark.parametrize("step", [1, None])
@pytest.mark.parametrize("half_told", [False, True])
def test_killed_between_the_journal_and_the_workers(
    tmp_path: Path, run: Run, half_told: bool, step: int | None
) -> None:
    """The buffer has the group, so its siblings have their rewards, wherever they wait."""

    async def go() -> tuple[list[Verdict], Any]:
        plan = world.plan(workers=2, judge_options={"latency_ms": LATENCY_MS})
        first = Owner(plan, tmp_path / "run", Resume(), "run")
        ray = Ray(None)
        links = [Link(ray.find, 20), Link(ray.find, 20)]
        ray.desk = Held(first, (links[0]._me,) if half_told else ())
        rows = group("q", step)
        tasks = [asyncio.create_task(links[i % 2].score(row)) for i, row in enumerate(rows)]
        await until(lambda: (first.buffer("q") or {"epochs_seen": []})["epochs_seen"] == [0])
        if half_told:
            await asyncio.gather(*tasks[::2])
        assert not tasks[1].done()
        second = Owner(plan, tmp_path / "run", Resume(), "run")
        ray.desk = Desk(second)
        verdicts = await asyncio.gather(*tasks)
        again = await scored(links[0].score, rows[0])  # padding
        buffer = second.buffer("q")
        assert second.stats()["journal"]["entries"] == 0  # nothing was judged
        await first.close()
        await second.close()
        return [*verdicts, *again], buffer

    (want,), whole = uninterrupted(tmp_path / "whole", run, group("q", step))
    verdicts, buffer = run(go())
    assert told(verdicts) == [*want, want[0]]
    assert {v.group_status for v in verdicts} == {GROUP_STATUS["ok"]}
    assert buffer == whole


def test_killed_before_the_journal(tmp_path: Path, run: Run) -> None:
    """The buffer does not have the group: all of it is lost, and the next one goes on."""

    async def go() -> tuple[list[Verdict], list[Verdict], Any]:
        plan = world.plan(workers=2, judge_options={"latency_ms": 2000})
        first = Owner(plan, tmp_path / "run", Resume(), "run")
        ray = Ray(Held(first))
        links = [Link(ray.find, 20), Link(ray.find, 20)]
        rows = group("q", 1)
        tasks = [asyncio.create_task(links[i % 2].score(row)) for i, row in enumerate(rows[:3])]
        await until(lambda: first.stats()["groups_open"] == 1)
        second = Owner(world.plan(workers=2), tmp_path / "run", Resume(), "run")
        ray.desk = Desk(second)
        # The last sibling had not been sent: nothing of its group is scored without the others.
        verdicts = [*await asyncio.gather(*tasks), *await scored(links[1].score, rows[3])]
        next_step = await scored(links[0].score, *group("q", 2))
        buffer = second.buffer("q")
        first._scorer.close()
        await first.close()
        await second.close()
        return verdicts, next_step, buffer

    (want,), whole = uninterrupted(tmp_path / "whole", run, group("q", 2))
    lost, after, buffer = run(go())
    assert lost == [LOST] * 4
    assert told(after) == want
    assert buffer == whole


def test_rows_of_which_nothing_names_the_group(tmp_path: Path, run: Run) -> None:
    """They are lost; later rows of the prompt are no answer to them."""

    async def go() -> tuple[list[Verdict], list[Verdict]]:
        plan = world.plan(workers=2)
        first = Owner(plan, tmp_path / "run", Resume(), "run")
        ray = Ray(Held(first))
        link = Link(ray.find, 20)
        rows = group("q", None, has_uid=False)
        tasks = [asyncio.create_task(link.score(row)) for row in rows]
        await until(lambda: (first.buffer("q") or {"epochs_seen": []})["epochs_seen"] == [0])
        second = Owner(plan, tmp_path / "run", Resume(), "run")
        ray.desk = Desk(second)
        lost = await asyncio.gather(*tasks)
        later = await scored(link.score, *rows)
        await first.close()
        await second.close()
        return lost, later

    lost, later = run(go())
    assert lost == [LOST] * 4
    assert {v.group_status for v in later} == {GROUP_STATUS["ok"]}


def test_text_that_the_scorer_refused(tmp_path: Path, run: Run) -> None:
    rows = [
        world.rollout(text, uid="u", slot=f"s{i}")
        for i, text in enumerate(["t90", "bad \ud800", "t50", "t10"])
    ]

    async def go() -> list[list[Verdict]]:
        plan = world.plan(workers=2)
        lives = []
        for _ in range(2):
            owner = Owner(plan, tmp_path, Resume(), "run")
            lives.append(await scored(owner.score, *rows))
            await owner.close()
        return lives

    first, second = run(go())
    assert told(first) == told(second)
