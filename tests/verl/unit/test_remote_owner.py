"""A reward worker's view of an owner that ends, and heartbeats. Without actors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from world import rollout

from rankbuffer.verl.actors import heartbeat
from rankbuffer.verl.rollout_reward import LOST, RolloutReward

Run = Callable[[Any], Any]


class Handle:
    """An actor's handle. Its calls have a reward of the text's length, or raise an error."""

    def __init__(self, error: Exception | None = None) -> None:
        self.score = self
        self.calls: list[str] = []
        self._error = error

    def options(self, *, max_task_retries: int) -> Handle:
        assert max_task_retries == -1
        return self

    async def remote(self, one: Any) -> RolloutReward:
        self.calls.append(one.text)
        if self._error is not None:
            raise self._error
        return RolloutReward(reward=float(len(one.text)))


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("ray")
    from rankbuffer.verl.actors import remote_owners

    monkeypatch.setattr(remote_owners, "_PAUSE_S", 0.01)
    return remote_owners


def test_an_owner_that_has_ended_is_created_again_once(module: Any, run: Run) -> None:
    from ray.exceptions import RayActorError

    handles = iter([Handle(RayActorError()), Handle(RayActorError()), Handle()])
    owner = module.RemoteOwner(lambda: next(handles), 5)

    async def score() -> list[RolloutReward]:
        return await asyncio.gather(*(owner.score(rollout("t" * n)) for n in (1, 2, 3)))

    assert [r.reward for r in run(score())] == [1, 2, 3]


def test_an_owner_that_cannot_be_looked_up(module: Any, run: Run) -> None:
    from ray.exceptions import RayActorError

    found: list[int] = []

    def find() -> Any:
        found.append(1)
        if 2 <= len(found) < 4:
            raise ValueError("Failed to look up actor")
        return Handle(RayActorError() if len(found) == 1 else None)

    assert run(module.RemoteOwner(find, 5).score(rollout("t1"))).reward == 2


def test_an_owner_that_cannot_be_started_is_waited_for_no_longer_than_told(
    module: Any, run: Run
) -> None:
    from ray.exceptions import RayActorError

    owner = module.RemoteOwner(lambda: Handle(RayActorError()), 0.2)

    async def score() -> list[RolloutReward]:
        rows = (rollout("t1"), rollout("t2", validate=True))
        return await asyncio.gather(*(owner.score(row) for row in rows))

    assert run(score()) == [LOST] * 2


def test_an_exception_in_the_owner_is_not_retried(module: Any, run: Run) -> None:
    handle = Handle(ValueError("a bug"))
    with pytest.raises(ValueError, match="a bug"):
        run(module.RemoteOwner(lambda: handle, 5).score(rollout("t1")))
    assert handle.calls == ["t1"]


def test_heartbeats_stop_and_a_blocked_loop_does_not_count(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_S", 0.05)

    async def go() -> tuple[bool, bool]:
        monitor = heartbeat.HeartbeatMonitor(limit=0.4)
        wait = asyncio.create_task(monitor.until_stopped())
        for _ in range(4):
            time.sleep(0.5)  # a save on slow storage
            await asyncio.sleep(0.01)
            monitor.beat()
        alive = not wait.done()
        await asyncio.wait_for(wait, 10)
        return alive, wait.done()

    assert run(go()) == (True, True)
