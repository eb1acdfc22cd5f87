"""One thread per scorer takes completed groups from the library and gives them to those who wait.

It is a thread, not ``loop.add_reader`` or ``select``, because one poll returns the
results of all groups. If a caller polled, Ctrl-C could interrupt it before it gave
the others their results, or its event loop could be busy with other code while they
wait. Python raises KeyboardInterrupt in the main thread only, so this thread is never
interrupted. It costs one more switch between threads for each wake-up, which is little
beside a judge call. The thread sleeps in poll(2) on the scorer's event descriptor.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from copy import copy
from typing import Any, NamedTuple

from . import _ffi
from ._wait import wait
from .errors import (
    BusyError,
    CancelledError,
    ClosedError,
    InternalError,
    RankBufferError,
    from_library,
)

# The thread ends as soon as it wakes. close() must end in time even if it does not.
_JOIN_S = 1.0

Start = Callable[[_ffi.Library, int, _ffi.Ticket], None]
"""Makes the call that starts a group: library, scorer handle, where the ticket goes."""


class Outcome(NamedTuple):
    """How a group ended: with its result or with an error."""

    result: dict[str, Any]
    error: RankBufferError | None = None

    def unwrap(self) -> dict[str, Any]:
        if self.error is not None:
            raise copy(self.error)  # many tasks may wait for the group, each gets its own
        return self.result


class Pending:
    """A group in flight."""

    def __init__(self, pump: Pump) -> None:
        self.ticket = _ffi.Ticket()
        self._pump = pump
        self._future: Future[Outcome] = Future()
        # A running future cannot be cancelled, so that a task which waits for it
        # and is cancelled takes nothing from the others that wait.
        self._future.set_running_or_notify_cancel()

    def start(self, call: Start) -> None:
        self._pump.start(self, call)

    def wait(self) -> dict[str, Any]:
        """Blocks until the group is done. Ctrl-C ends the wait at once."""
        return wait(self._future).unwrap()

    async def wait_async(self) -> dict[str, Any]:
        return (await asyncio.wrap_future(self._future)).unwrap()

    def settle(self, outcome: Outcome) -> None:
        """Sets the outcome unless there is one. The caller holds the pump's lock."""
        if not self.done:
            self._future.set_result(outcome)

    @property
    def done(self) -> bool:
        return self._future.done()

    def cancel(self) -> None:
        """Cancels the group. Whoever waits for it gets CancelledError. Idempotent."""
        self._pump.cancel(self)

    def stop(self) -> None:
        """Has the library end the group, with its result if it has one by then."""
        self._pump.stop(self)


class Pump:
    """The groups of one scorer that are in flight, by ticket.

    It must not refer to the Scorer: an abandoned scorer is closed by its
    finalizer, and the thread would keep it alive.
    """

    def __init__(self, handle: int) -> None:
        # Protects what is below, and every settling of a group. Reentrant, because
        # the garbage collector may run the scorer's finalizer, hence close(), on a
        # thread that holds it.
        self._lock = threading.RLock()
        self._handle = handle  # 0 once closed
        self._waiting: dict[int, Pending] = {}
        self._thread: threading.Thread | None = None
        self._closed = False

    def handle(self) -> int:
        """The scorer's handle. Raises ForkedError or ClosedError."""
        _ffi.check_fork()
        if self._closed:
            raise ClosedError("the scorer is closed")
        return self._handle

    @property
    def closed(self) -> bool:
        return self._closed

    def start(self, pending: Pending, call: Start) -> None:
        # Checked before the lock is touched: in a forked child it may be held by
        # a thread that is not there.
        self.handle()
        with self._lock:
            handle = self.handle()
            if self._thread is None:
                self._thread = self._start_thread(handle)
            # Under the lock, so that the thread cannot meet the completion
            # before the table knows the ticket.
            call(_ffi.library(), handle, pending.ticket)
            self._waiting[pending.ticket.value] = pending

    def cancel(self, pending: Pending) -> None:
        """Ends one group with CancelledError. Does nothing for one that has ended."""
        if _ffi.forked() or not pending.ticket.value:
            return
        with self._lock:
            if pending.done or self._closed:
                return
            self._waiting.pop(pending.ticket.value, None)
            pending.settle(Outcome({}, CancelledError("the group was cancelled")))
            with suppress(ClosedError):  # it has just ended by itself
                _ffi.library().cancel(self._handle, pending.ticket)

    def stop(self, pending: Pending) -> None:
        """Has the library end one group, with its result if it has one by then."""
        if not _ffi.forked() and pending.ticket.value:
            with suppress(ClosedError):  # the scorer, or the group
                _ffi.library().cancel(self.handle(), pending.ticket)

    def close(self, deadline_ms: int) -> None:
        """Ends every group in flight with ClosedError, then closes the handle. Idempotent."""
        if _ffi.forked():
            return
        with self._lock:
            self._end(ClosedError("the scorer was closed while the group was in flight"))
            handle, self._handle = self._handle, 0
        if not handle:
            return
        # Makes the event descriptor readable: the thread wakes, finds the handle
        # gone and ends. Busy: what outlived the deadline ends in the background.
        with suppress(ClosedError, BusyError):
            _ffi.library().scorer_close(handle, deadline_ms)
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_JOIN_S)

    def _end(self, error: RankBufferError) -> None:
        """Ends every group with the error. The caller holds the lock."""
        self._closed = True
        for pending in self._waiting.values():
            pending.settle(Outcome({}, error))
        self._waiting.clear()

    def _start_thread(self, handle: int) -> threading.Thread:
        # Our own duplicate: the library closes its descriptor with the scorer,
        # and the number may be another file's by the time poll looks at it.
        fd = os.dup(_ffi.library().event_fd(handle))
        thread = threading.Thread(
            target=self._run, args=(handle, fd), name="rankbuffer-completions", daemon=True
        )
        try:
            thread.start()
        except BaseException:
            os.close(fd)
            raise
        return thread

    def _run(self, handle: int, fd: int) -> None:
        try:
            # Not select(): descriptors above 1023 are common in a trainer.
            readable = select.poll()
            readable.register(fd, select.POLLIN)
            while True:
                readable.poll()
                for completion in json.loads(_ffi.library().poll(handle)):
                    self._deliver(completion)
        except ClosedError:
            pass  # close() has told those who waited
        except BaseException as error:
            with self._lock:
                self._end(InternalError(f"the thread that takes completions ended: {error!r}"))
            raise
        finally:
            os.close(fd)

    def _deliver(self, completion: dict[str, Any]) -> None:
        with self._lock:
            pending = self._waiting.pop(completion["ticket"], None)
            if pending is None:
                return  # cancelled or closed meanwhile
            if told := completion.get("error"):
                pending.settle(Outcome({}, from_library(told)))
            else:
                pending.settle(Outcome(completion["result"]))
