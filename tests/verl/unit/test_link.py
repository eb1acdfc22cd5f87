"""A reward worker's connection to an owner that dies, vanishes, stalls or fails. No Ray."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from handles import Ray, until
from world import rollout

from rankbuffer.verl.actors import link as link_module
from rankbuffer.verl.actors.desk import Desk
from rankbuffer.verl.actors.link import Link
from rankbuffer.verl.actors.silence import Silence
from rankbuffer.verl.rollouts.rows import Key, Rollout
from rankbuffer.verl.verdict import LOST, STATUS, Verdict

Run = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "_PAUSE_S", 0.01)


class Owner:
    """Scores when told to: a reward of the text's length, or the exception it was given."""

    def __init__(self) -> None:
        self.scored: list[str] = []
        self.lost: list[Key] = []
        self.go = asyncio.Event()
        self.error: Exception | None = None

    async def score(self, rollout: Rollout) -> Verdict:
        if rollout.key in self.lost and not rollout.validate:
            return LOST
        self.scored.append(rollout.text)
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return Verdict(reward=float(len(rollout.text)))

    def lose(self, keys: list[Key]) -> None:
        self.lost += keys


def waiting(link: Link, *rollouts: Rollout) -> list[asyncio.Task[Verdict]]:
    return [asyncio.create_task(link.score(r)) for r in rollouts]


def test_verdicts_come_back(run: Run) -> None:
    async def go() -> list[Verdict]:
        owner = Owner()
        owner.go.set()
        link = Link(Ray(Desk(owner)).find, 5)
        return await asyncio.gather(*waiting(link, *(rollout("t" * i) for i in range(1, 400))))

    assert [v.reward for v in run(go())] == list(range(1, 400))


def test_an_exception_in_the_owner_is_an_answer(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    async def go() -> list[Verdict]:
        owner = Owner()
        owner.error = ValueError("a bug")
        owner.go.set()
        link = Link(Ray(Desk(owner)).find, 5)
        return await asyncio.gather(*waiting(link, rollout("t1"), rollout("t2")))

    assert {v.status for v in run(go())} == {STATUS["error"]}
    assert "ValueError: a bug" in caplog.text


def test_a_scoring_that_is_cancelled_is_an_answer(run: Run) -> None:
    class Cancelled(Owner):
        async def score(self, rollout: Rollout) -> Verdict:
            raise asyncio.CancelledError

    async def go() -> list[Verdict]:
        return await asyncio.gather(*waiting(Link(Ray(Desk(Cancelled())).find, 5), rollout("t1")))

    assert {v.status for v in run(go())} == {STATUS["error"]}


def test_an_owner_that_does_not_answer_is_waited_for_no_longer_than_told(run: Run) -> None:
    async def go() -> list[Verdict]:
        link = Link(Ray(None).find, 0.2)
        first = await asyncio.gather(*waiting(link, rollout("t1"), rollout("t2", validate=True)))
        return first + await asyncio.gather(*waiting(link, rollout("t3")))

    assert run(go()) == [LOST] * 3


def test_an_owner_that_comes_back_late_hears_of_what_was_given_up(run: Run) -> None:
    """Siblings at other workers may wait for a rollout that nobody will send again."""

    async def go() -> list[Key]:
        ray = Ray(None)
        (lost,) = await asyncio.gather(*waiting(Link(ray.find, 0.1), rollout("t1")))
        assert lost == LOST
        owner = Owner()
        ray.desk = Desk(owner)
        await until(lambda: bool(owner.lost))
        return owner.lost

    assert run(go()) == [rollout("t1").key]


def test_an_owner_that_vanishes_while_it_is_looked_for(run: Run) -> None:
    async def go() -> list[Verdict]:
        owner = Owner()
        owner.go.set()
        ray = Ray(Desk(owner))

        def find() -> Any:
            if 2 <= ray.find().found < 4:
                raise ValueError("Failed to look up actor")
            return ray

        ray.broken = lambda call: RuntimeError("gone") if ray.found < 4 else None
        return await asyncio.gather(*waiting(Link(find, 5), rollout("t1")))

    assert run(go())[0].reward == 2


def test_nobody_waits_for_a_connection_that_failed(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def go() -> list[Verdict]:
        owner = Owner()
        owner.go.set()
        link = Link(Ray(Desk(owner)).find, 5)
        with monkeypatch.context() as patched:
            patched.setattr(link, "_exchange", lambda life: 1 / 0)
            failed = await asyncio.gather(*waiting(link, rollout("t1"), rollout("t2", uid="v")))
        return failed + await asyncio.gather(*waiting(link, rollout("t3", uid="w")))

    *failed, after = run(go())
    assert {v.status for v in failed} == {STATUS["error"]}
    assert "ZeroDivisionError" in caplog.text
    assert after.reward == 2  # the next one makes another


@pytest.mark.parametrize("call", ["submit", "collect"])
def test_a_connection_that_breaks_loses_nothing_while_the_owner_lives(run: Run, call: str) -> None:
    async def go() -> tuple[list[Verdict], Owner]:
        owner = Owner()
        ray = Ray(Desk(owner))
        breaks = iter([None, OSError("unavailable"), OSError("unavailable")])
        ray.broken = lambda name: next(breaks, None) if name == call else None
        tasks = waiting(Link(ray.find, 5), rollout("t1"), rollout("t22", uid="v"))
        await until(lambda: len(owner.scored) >= 2)
        await asyncio.sleep(0.2)
        owner.go.set()
        return await asyncio.gather(*tasks), owner

    verdicts, owner = run(go())
    assert [v.reward for v in verdicts] == [2, 3]
    assert sorted(owner.scored) == ["t1", "t22"]  # once each
    assert owner.lost == []


def test_a_rollout_that_breaks_every_connection_ends(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "_TRIES", 3)

    async def go() -> list[Verdict]:
        ray = Ray(Desk(Owner()))
        ray.broken = lambda call: TypeError("cannot be pickled") if call == "submit" else None
        return await asyncio.gather(*waiting(Link(ray.find, 5), rollout("t1")))

    assert run(go())[0].status == STATUS["error"]


def test_an_owner_that_died(run: Run) -> None:
    """Its groups are lost; validation is asked for again; what was not sent waits."""

    async def go() -> list[Verdict]:
        first, second = Owner(), Owner()
        second.go.set()
        ray = Ray(Desk(first))
        link = Link(ray.find, 5)
        tasks = waiting(link, rollout("t1"), rollout("t22", uid="v", validate=True))
        await until(lambda: len(first.scored) == 2)
        ray.desk = None
        await asyncio.sleep(0.1)
        tasks += waiting(link, rollout("t333", uid="w"))
        ray.desk = Desk(second)
        done = await asyncio.gather(*tasks)
        assert second.lost == [("u", 1)]
        assert second.scored == ["t22", "t333"]
        late = waiting(link, rollout("t4444"), rollout("t55555", step=2))  # a lost group's sibling
        return done + await asyncio.gather(*late)

    lost, validated, fresh, late, reissued = run(go())
    assert lost == late == LOST
    assert [validated.reward, fresh.reward, reissued.reward] == [3, 4, 6]


def test_rows_without_a_uid_are_lost_alone(run: Run) -> None:
    """Later groups of their prompt have the same key."""

    async def go() -> list[Verdict]:
        first, second = Owner(), Owner()
        second.go.set()
        ray = Ray(Desk(first))
        link = Link(ray.find, 5)
        tasks = waiting(link, rollout("t1", has_uid=False))
        await until(lambda: len(first.scored) == 1)
        ray.desk = Desk(second)
        lost = await asyncio.gather(*tasks)
        return lost + await asyncio.gather(*waiting(link, rollout("t22", has_uid=False)))

    lost, later = run(go())
    assert lost == LOST
    assert later.reward == 3


@pytest.mark.parametrize("sent", [True, False])
def test_a_rollout_that_is_cancelled_takes_nothing_from_the_others(run: Run, sent: bool) -> None:
    async def go() -> tuple[Verdict, Link]:
        owner = Owner()
        link = Link(Ray(Desk(owner)).find, 5)
        gone, stays = waiting(link, rollout("t1"), rollout("t22"))
        await (until(lambda: len(owner.scored) == 2) if sent else asyncio.sleep(0))
        gone.cancel()
        owner.go.set()
        verdict = await stays
        with pytest.raises(asyncio.CancelledError):
            await gone
        return verdict, link

    verdict, link = run(go())
    assert verdict.reward == 3
    assert not link._waiting


def test_silence_ends_and_a_blocked_loop_is_none(run: Run) -> None:
    async def go() -> tuple[bool, bool]:
        silence = Silence(limit=0.4, tick=0.05)
        wait = asyncio.create_task(silence.wait())
        for _ in range(4):
            time.sleep(0.5)  # a save on slow storage
            await asyncio.sleep(0.01)
            silence.heard()
        alive = not wait.done()
        await asyncio.wait_for(wait, 10)
        return alive, wait.done()

    assert run(go()) == (True, True)
