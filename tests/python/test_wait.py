"""A result that comes at the moment at which a wait's tick ends is the result."""

from __future__ import annotations

from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout

import pytest

from rankbuffer._wait import wait


class _Late(Future[int]):
    """Completes between the end of the tick and the look at whether it is done."""

    def result(self, timeout: float | None = None) -> int:
        if timeout is not None and not self.done():
            self.complete()
            raise FutureTimeout
        return super().result(timeout)

    def complete(self) -> None:
        self.set_result(7)


class _LateTimeout(_Late):
    def complete(self) -> None:
        self.set_exception(TimeoutError("the call's own"))


def test_a_result_at_the_end_of_a_tick() -> None:
    assert wait(_Late()) == 7


def test_a_timeout_that_is_the_result() -> None:
    with pytest.raises(TimeoutError, match="the call's own"):
        wait(_LateTimeout())
