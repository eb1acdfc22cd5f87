"""Waits that Ctrl-C ends at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Final, TypeVar

T = TypeVar("T")

# How late Ctrl-C may be in the rare case described in wait().
_TICK_S: Final = 0.05


def wait(future: Future[T]) -> T:
    """The future's result. Ctrl-C ends the wait at once."""
    if not _in_main():
        return future.result()
    # Python's handler of a signal that arrives after the interpreter last looked,
    # but before the lock sleeps, runs when the sleep ends: without a bound, never.
    while True:
        try:
            return future.result(_TICK_S)
        except FutureTimeout:
            if future.done():  # since then, or with this very error as its result
                return future.result()


def interruptibly(call: Callable[[], T]) -> T:
    """Makes a call that blocks in the library. After Ctrl-C it ends in a thread of its own."""
    if not _in_main():
        return call()
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="rankbuffer-call", daemon=True).start()
    return wait(future)


def _in_main() -> bool:
    """Only the main thread runs signal handlers."""
    return threading.current_thread() is threading.main_thread()
