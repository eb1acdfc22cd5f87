"""An owner's actor without Ray: calls reach a desk, which may break, die and come back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from rankbuffer.verl.actors.desk import Desk


class Ray:
    """Actor handles without Ray: calls reach a desk, until they are broken."""

    def __init__(self, desk: Desk | None) -> None:
        self.desk = desk
        self.found = 0
        self.broken: Callable[[str], Exception | None] = lambda call: None

    def find(self) -> Any:
        self.found += 1
        return self

    def __getattr__(self, call: str) -> Any:
        if call not in ("hello", "submit", "collect"):
            raise AttributeError(call)
        return _Method(self, call)


class _Method:
    def __init__(self, ray: Ray, call: str) -> None:
        self._ray, self._call = ray, call

    def remote(self, *args: Any) -> Awaitable[Any]:
        return asyncio.ensure_future(self._run(*args))

    async def _run(self, *args: Any) -> Any:
        while self._ray.desk is None:  # starting
            await asyncio.sleep(0.02)
        desk = self._ray.desk
        answer = asyncio.ensure_future(getattr(desk, self._call)(*args))
        while not answer.done():
            await asyncio.wait([answer], timeout=0.02)
            error = self._ray.broken(self._call)
            if error is not None:
                answer.cancel()
                raise error
            if self._ray.desk is not desk:
                answer.cancel()
                raise RuntimeError("the actor died")
        return answer.result()


async def until(true: Callable[[], bool]) -> None:
    while not true():
        await asyncio.sleep(0.01)
