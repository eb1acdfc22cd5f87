"""Tests of the trainer's side that need neither verl nor Ray."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import pytest
from world import world_scorer

T = TypeVar("T")


@pytest.fixture
def scorer() -> Any:
    with world_scorer() as made:
        yield made


@pytest.fixture
def run() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine; 30 seconds mean that something hangs."""

    def go(work: Awaitable[T]) -> T:
        async def bounded() -> T:
            return await asyncio.wait_for(work, 30)

        return asyncio.run(bounded())

    return go
