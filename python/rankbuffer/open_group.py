"""A group that is fed response by response, while the policy still writes the others."""

from __future__ import annotations

import asyncio
import threading
import warnings
import weakref
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from . import _ffi
from ._encode import integer
from ._group import ResponseOptions, response
from ._options import taking
from ._pump import Pending, Pump
from .errors import ClosedError, InputError, RankBufferError, RankBufferWarning
from .types import GroupResult

if TYPE_CHECKING:
    from typing_extensions import Unpack  # in typing from Python 3.11

_MAX_EXPECTED = 2**31 - 1


class _Feed:
    """What the plain and the asyncio group share."""

    def __init__(self, pump: Pump, pending: Pending, expected: int) -> None:
        self._pump = pump
        self._pending = pending
        self._expected = expected
        self._lock = threading.Lock()  # protects the two below
        self._taken: set[int] = set()
        self._next = 0  # no free place is lower
        self._result: GroupResult | None = None

    @property
    def result(self) -> GroupResult:
        """The group's result, once the ``with`` block has ended."""
        if self._result is None:
            raise RankBufferError("the group has no result yet: it is there after the with block")
        return self._result

    def cancel(self) -> None:
        """Cancels the group. Whoever waits gets CancelledError. The buffer is not changed."""
        self._pending.cancel()

    def stop(self) -> None:
        """Cancels the group, unless the library has its result already.

        Whoever waits gets that result, or else CancelledError, once the library has ended it.
        """
        self._pending.stop()

    def _add(self, text: str, index: int | None, options: ResponseOptions) -> int:
        handle = self._pump.handle()
        place = self._take(index)
        try:
            body = response(text, options, f"responses[{place}]")
            _ffi.library().group_add(handle, self._pending.ticket, place, body)
        except ClosedError:
            # Too late, which is nobody's mistake: the deadline has passed. The place
            # has its status already. A closed scorer is another matter.
            self._pump.handle()
        except BaseException:
            with self._lock:
                self._taken.discard(place)
                self._next = min(self._next, place)
            raise
        return place

    def _take(self, index: int | None) -> int:
        with self._lock:
            if index is None:
                while self._next in self._taken:
                    self._next += 1
                index = self._next
                if index >= self._expected:
                    raise InputError(f"the group has all the {self._expected} responses it expects")
            index = integer(index, "index")
            if not 0 <= index < self._expected:
                raise InputError(
                    f"{index} is outside 0..{self._expected - 1}, the places of the responses "
                    "expected",
                    "index",
                )
            if index in self._taken:
                raise InputError(f"{index} was added before", "index")
            self._taken.add(index)
        return index

    def _give_up(self) -> None:
        """Ends the group after an exception; a result that is there already stays."""
        self._pending.cancel()
        if self._pending.done:
            with suppress(RankBufferError):
                self._result = GroupResult.from_json(self._pending.wait())

    def _close(self) -> None:
        # It may have closed by itself: with its last response, at its deadline, or
        # with the scorer. What it came to is in its outcome.
        with suppress(ClosedError):
            _ffi.library().group_close(self._pump.handle(), self._pending.ticket)


class Group(_Feed):
    """An open group of plain code; safe to feed from several threads."""

    @taking(ResponseOptions)
    def add(
        self, response: str, index: int | None = None, **options: Unpack[ResponseOptions]
    ) -> int:
        """Adds a response and returns its place in the result at once.

        ``response``
            The text. It is judged at once if the method allows.
        ``index``
            Its place in the result, from 0; by default the first that is free.

        InputError names what is wrong with the response, which is not added then. A
        response that comes after the deadline is left out.
        """
        return self._add(response, index, options)

    def _finish(self) -> None:
        self._close()
        self._result = GroupResult.from_json(self._pending.wait())


class AsyncGroup(_Feed):
    """An open group of asyncio code."""

    def __init__(
        self, pump: Pump, pending: Pending, expected: int, block: asyncio.Task[Any] | None
    ) -> None:
        super().__init__(pump, pending, expected)
        self._block = None if block is None else weakref.ref(block)

    @taking(ResponseOptions)
    def add(
        self, response: str, index: int | None = None, **options: Unpack[ResponseOptions]
    ) -> Coroutine[Any, Any, float]:
        """Adds a response, as ``Group.add``; await what it returns for the response's reward.

        The response is in the group when this returns. The reward is there when the whole
        group is done: do not await it before the other responses are added, or the wait
        lasts until the deadline. For texts that are all there,
        ``asyncio.gather(*(group.add(t) for t in texts))`` is the short way. Cancelling the
        wait leaves the response in the group. The reward of a response that comes after
        the deadline is the mean of the others.
        """
        place = self._add(response, index, options)
        return _Reward(lambda: self._reward(place))

    async def _reward(self, place: int) -> float:
        if self._stuck():
            warnings.warn(
                f"this await will not end: the group needs all its {self._expected} responses, and "
                "no other task is left to add them; add them all before awaiting, or each in a "
                "task of its own (asyncio.gather)",
                RankBufferWarning,
                stacklevel=2,
            )
        return (await self.wait()).rewards[place]

    def _stuck(self) -> bool:
        """Whether the only task there is waits, in the block, for a group that lacks responses."""
        return (
            not self._pending.done
            and len(self._taken) < self._expected
            and self._block is not None
            and self._block() is asyncio.current_task()
            and len(asyncio.all_tasks()) == 1
        )

    @taking(ResponseOptions)
    def add_nowait(
        self, response: str, index: int | None = None, **options: Unpack[ResponseOptions]
    ) -> int:
        """Adds a response and returns its place, as ``Group.add``."""
        return self._add(response, index, options)

    async def wait(self) -> GroupResult:
        """The result, once the group is done: with its last response, or after the block."""
        if self._result is None:
            self._result = GroupResult.from_json(await self._pending.wait_async())
        return self._result

    async def _finish(self) -> None:
        self._close()
        await self.wait()


class _Reward(Coroutine[Any, Any, float]):
    """What ``AsyncGroup.add`` returns: for one await, or one task.

    Not a native coroutine, which complains when nobody awaits it: the response is
    in the group all the same, and of several adds in one expression a later one
    may have raised.
    """

    def __init__(self, make: Callable[[], Coroutine[Any, Any, float]]) -> None:
        self._make = make
        self._made: Coroutine[Any, Any, float] | None = None

    def _coroutine(self) -> Coroutine[Any, Any, float]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __await__(self) -> Generator[Any, Any, float]:
        return self._coroutine().__await__()

    def send(self, value: Any) -> Any:
        return self._coroutine().send(value)

    def throw(self, *error: Any) -> Any:
        return self._coroutine().throw(*error)

    def close(self) -> None:
        self._coroutine().close()


class OpenGroup:
    """What ``Scorer.open_group`` returns: a group that opens with ``with`` or ``async with``.

    The end of the block closes the group with the responses that came and waits
    for its result; an exception in the block, or Ctrl-C, cancels it.
    """

    def __init__(self, pump: Pump, body: bytes, expected: int) -> None:
        self._pump = pump
        self._body = body
        self._expected = integer(expected, "expected")
        if not 1 <= self._expected <= _MAX_EXPECTED:
            raise InputError(f"need at least 1, got {expected}", "expected")
        self._plain: Group | None = None
        self._async: AsyncGroup | None = None

    def __enter__(self) -> Group:
        self._plain = Group(self._pump, self._open(), self._expected)
        return self._plain

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        group = self._plain
        assert group is not None
        if error is not None:
            group._give_up()
            return
        try:
            group._finish()
        except BaseException:
            group.cancel()
            raise

    async def __aenter__(self) -> AsyncGroup:
        block = asyncio.current_task()  # first: it raises where asyncio does not run
        self._async = AsyncGroup(self._pump, self._open(), self._expected, block)
        return self._async

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        group = self._async
        assert group is not None
        if error is not None:
            group._give_up()
            return
        try:
            await group._finish()
        except BaseException:
            group.cancel()
            raise

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if name in ("add", "add_nowait", "wait", "result", "cancel", "stop"):
                raise RankBufferError(
                    f"the group has no {name} before it is entered: write "
                    "`with scorer.open_group(...) as group: group.add(text)`, or `async with`"
                )
            raise AttributeError(name)

    def _open(self) -> Pending:
        if self._plain is not None or self._async is not None:
            raise RankBufferError("a group opens once; call open_group again for another")
        pending = Pending(self._pump)
        try:
            pending.start(
                lambda lib, handle, ticket: lib.group_open(
                    handle, self._body, self._expected, ticket
                )
            )
        except BaseException:
            pending.cancel()
            raise
        return pending
