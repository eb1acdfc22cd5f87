"""The native library: the only file that knows ctypes.

Every other file goes through ``library()``, which loads on first use (never at
import: a process that has merely imported the package may still fork) and
which, after a fork, raises ForkedError in the child: Go's threads do not
survive a fork, and calls into the copy would hang.

Two ways of calling are bound to the same library. PyDLL keeps the GIL, which
is right for calls that never block: giving the GIL up costs up to 5 ms to get
it back from a busy thread, far more than the call. CDLL gives it up, for calls
that wait or copy much.

A note on order: a process that wants faulthandler enables it before the
library loads, so that Go's handler for SIGSEGV stays the outer one.
"""

from __future__ import annotations

import ctypes
import json
import os
import threading
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Final

from .errors import ForkedError, InputError, LibraryError, from_library

ABI_VERSION: Final = 1

# Above this many bytes the library reads a document for longer (some 25 us a KB)
# than other threads should have to wait for the GIL.
_LARGE: Final = 8 * 1024

_HandleOut = POINTER(c_uint64)
_TextOut = POINTER(c_void_p)

# Calls that never block, made with the GIL held.
_QUICK: Final[dict[str, tuple[Any, list[Any]]]] = {
    "rb_abi_version": (c_uint32, []),
    "rb_version": (c_char_p, []),
    "rb_last_error": (c_char_p, []),
    "rb_free": (None, [c_void_p]),
    "rb_prompt_template": (c_int32, [c_char_p, _TextOut]),
    "rb_buffer_create": (c_int32, [c_uint64, c_char_p]),
    "rb_cancel": (c_int32, [c_uint64, c_uint64]),
    "rb_event_fd": (c_int32, [c_uint64, POINTER(c_int32)]),
    "rb_poll": (c_int32, [c_uint64, _TextOut]),
    "rb_score_submit": (c_int32, [c_uint64, c_char_p, _HandleOut]),
    "rb_group_open": (c_int32, [c_uint64, c_char_p, c_int32, _HandleOut]),
    "rb_group_add": (c_int32, [c_uint64, c_uint64, c_int32, c_char_p]),
    "rb_group_close": (c_int32, [c_uint64, c_uint64]),
    "rb_handles_open": (c_int32, []),
}

# Calls that wait, read files or copy much, made without the GIL.
_SLOW: Final[dict[str, tuple[Any, list[Any]]]] = {
    "rb_scorer_new": (c_int32, [c_char_p, _HandleOut]),
    "rb_scorer_close": (c_int32, [c_uint64, c_int64]),
    "rb_judge_check": (c_int32, [c_uint64, c_int64]),
    "rb_rubrics_write": (c_int32, [c_uint64, c_char_p, _TextOut]),
    "rb_buffer_create": _QUICK["rb_buffer_create"],
    "rb_buffer_get": (c_int32, [c_uint64, c_char_p, _TextOut]),
    "rb_score_submit": _QUICK["rb_score_submit"],
    "rb_group_add": _QUICK["rb_group_add"],
    "rb_update": (c_int32, [c_uint64, c_char_p]),
    "rb_snapshot": (c_int32, [c_uint64, c_char_p]),
    "rb_restore": (c_int32, [c_uint64, c_char_p]),
    "rb_journal": (c_int32, [c_uint64, c_char_p, c_char_p]),
    "rb_restore_from": (c_int32, [c_uint64, c_char_p, _TextOut]),
    "rb_stats": (c_int32, [c_uint64, _TextOut]),
    "rb_inspect": (c_int32, [c_char_p, c_char_p, _TextOut]),
    "rb_sim_start": (c_int32, [c_char_p, _HandleOut]),
    "rb_sim_url": (c_int32, [c_uint64, _TextOut]),
    "rb_sim_stop": (c_int32, [c_uint64, c_int64]),
}


class Ticket:
    """Where the library writes the ticket of a submitted group; 0 until it has.

    The caller makes it before the call, so that a KeyboardInterrupt that lands
    right after the call still finds the ticket to cancel.
    """

    __slots__ = ("cell",)

    def __init__(self) -> None:
        self.cell = c_uint64(0)

    @property
    def number(self) -> int:
        return self.cell.value


class Library:
    """The functions of capi/rankbuffer.h, with their errors raised.

    Handles are plain integers. Outputs are copied and freed here. All methods
    are safe to call from any thread.
    """

    def __init__(self, path: Path) -> None:
        try:
            slow = ctypes.CDLL(str(path))
        except OSError as error:
            raise LibraryError(f"cannot load {path}: {error}") from error
        # The same dlopen handle, called with the GIL held.
        quick = ctypes.PyDLL(str(path), handle=slow._handle)
        _check_version(quick, path)
        self._quick = _bind(quick, _QUICK, path)
        self._slow = _bind(slow, _SLOW, path)

    def version(self) -> str:
        raw = self._quick["rb_version"]()
        return bytes(raw).decode() if raw else ""

    def handles_open(self) -> int:
        """How many handles are alive; for tests."""
        return int(self._quick["rb_handles_open"]())

    def prompt_template(self, kind: str) -> str:
        return self._text(self._quick["rb_prompt_template"], c_string(kind, "kind")).decode()

    # Scorers.

    def scorer_new(self, config: bytes) -> int:
        out = c_uint64(0)
        self._check(self._slow["rb_scorer_new"](config, byref(out)))
        return out.value

    def scorer_close(self, handle: int, deadline_ms: int) -> None:
        self._check(self._slow["rb_scorer_close"](handle, deadline_ms))

    def judge_check(self, handle: int, deadline_ms: int) -> None:
        self._check(self._slow["rb_judge_check"](handle, deadline_ms))

    def rubrics_write(self, handle: int, query: bytes) -> bytes:
        return self._text(self._slow["rb_rubrics_write"], handle, query)

    def stats(self, handle: int) -> bytes:
        return self._text(self._slow["rb_stats"], handle)

    # Buffers.

    def buffer_create(self, handle: int, query: bytes) -> None:
        self._check(self._by_size(query)["rb_buffer_create"](handle, query))

    def buffer_get(self, handle: int, query_id: str) -> bytes:
        return self._text(self._slow["rb_buffer_get"], handle, c_string(query_id, "query_id"))

    def update(self, handle: int, group_id: str) -> None:
        self._check(self._slow["rb_update"](handle, c_string(group_id, "group_id")))

    def snapshot(self, handle: int, path: bytes) -> None:
        self._check(self._slow["rb_snapshot"](handle, path))

    def restore(self, handle: int, path: bytes) -> None:
        self._check(self._slow["rb_restore"](handle, path))

    def journal(self, handle: int, path: bytes | None, snapshot: bytes | None) -> None:
        self._check(self._slow["rb_journal"](handle, path, snapshot))

    def restore_from(self, handle: int, sources: bytes) -> bytes:
        return self._text(self._slow["rb_restore_from"], handle, sources)

    def inspect(self, path: bytes, query_id: str | None) -> bytes:
        wanted = None if query_id is None else c_string(query_id, "query_id")
        return self._text(self._slow["rb_inspect"], path, wanted)

    # Groups.

    def score_submit(self, handle: int, group: bytes, ticket: Ticket) -> None:
        submit = self._by_size(group)["rb_score_submit"]
        self._check(submit(handle, group, byref(ticket.cell)))

    def group_open(self, handle: int, group: bytes, expected: int, ticket: Ticket) -> None:
        self._check(self._quick["rb_group_open"](handle, group, expected, byref(ticket.cell)))

    def group_add(self, handle: int, ticket: Ticket, index: int, response: bytes) -> None:
        add = self._by_size(response)["rb_group_add"]
        self._check(add(handle, ticket.cell, index, response))

    def group_close(self, handle: int, ticket: Ticket) -> None:
        self._check(self._quick["rb_group_close"](handle, ticket.cell))

    def cancel(self, handle: int, ticket: Ticket) -> None:
        self._check(self._quick["rb_cancel"](handle, ticket.cell))

    # Completions.

    def event_fd(self, handle: int) -> int:
        out = c_int32(-1)
        self._check(self._quick["rb_event_fd"](handle, byref(out)))
        return out.value

    def poll(self, handle: int) -> bytes:
        return self._text(self._quick["rb_poll"], handle)

    # The simulated judge's HTTP server.

    def sim_start(self, config: bytes) -> int:
        out = c_uint64(0)
        self._check(self._slow["rb_sim_start"](config, byref(out)))
        return out.value

    def sim_url(self, handle: int) -> str:
        return self._text(self._slow["rb_sim_url"], handle).decode()

    def sim_stop(self, handle: int, deadline_ms: int) -> None:
        self._check(self._slow["rb_sim_stop"](handle, deadline_ms))

    def _by_size(self, body: bytes) -> dict[str, Any]:
        return self._slow if len(body) > _LARGE else self._quick

    def _check(self, code: int) -> None:
        if code < 0:
            told = self._quick["rb_last_error"]()
            raise from_library(_told(code, told.decode("utf-8", "replace") if told else ""))

    def _text(self, function: Any, *arguments: Any) -> bytes:
        out = c_void_p(None)
        self._check(function(*arguments, byref(out)))
        if not out.value:
            return b""
        try:
            return ctypes.string_at(out.value)
        finally:
            self._quick["rb_free"](out)


def _told(status: int, text: str) -> Any:
    if text.startswith("{"):
        return json.loads(text)
    return {"status": status, "code": "internal", "summary": "", "message": text}


def _bind(dll: Any, table: dict[str, tuple[Any, list[Any]]], path: Path) -> dict[str, Any]:
    functions = {}
    for name, (restype, argtypes) in table.items():
        try:
            function = getattr(dll, name)
        except AttributeError as error:
            raise LibraryError(f"{path} has no {name}; rebuild or reinstall rankbuffer") from error
        function.restype, function.argtypes = restype, argtypes
        functions[name] = function
    return functions


def _check_version(dll: Any, path: Path) -> None:
    try:
        ask = dll.rb_abi_version
    except AttributeError as error:
        raise LibraryError(f"{path} is not a RankBuffer library") from error
    ask.restype, ask.argtypes = c_uint32, []
    found = ask()
    if found != ABI_VERSION:
        raise LibraryError(
            f"{path} has ABI version {found}, this Python package needs {ABI_VERSION}; "
            "reinstall rankbuffer so that both come from one release"
        )


def c_string(text: str, name: str) -> bytes:
    """UTF-8 for a char*; a NUL, which would cut it short, and lone surrogates are refused."""
    if not isinstance(text, str):
        raise InputError(f"must be a string, got {type(text).__name__}", name)
    try:
        raw = text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"is not valid Unicode text: {error.reason}", name) from None
    if 0 in raw:
        raise InputError("must not contain a NUL character", name)
    return raw


def c_path(path: str | os.PathLike[str]) -> bytes:
    """A file name for a char*."""
    try:
        raw = os.fsencode(path)
    except TypeError:
        raise InputError(f"must be a string or a Path, got {type(path).__name__}", "path") from None
    if not raw or 0 in raw:
        raise InputError("must not be empty or contain a NUL character", "path")
    return raw


_lock = threading.Lock()
_library: Library | None = None
_touched = False  # the library was loaded, or is being loaded, in this process
_forked = False  # this process is a child of one in which it was loaded
_hooked = False


def library() -> Library:
    """The loaded library; loads it on first use. Raises LibraryError or ForkedError."""
    loaded = _library
    if loaded is not None:
        return loaded
    check_fork()
    with _lock:
        return _library or _load()


def forked() -> bool:
    """True in a child forked after the library was loaded."""
    return _forked


def check_fork() -> None:
    """Raises ForkedError in a child forked after the library was loaded."""
    if _forked:
        raise ForkedError(
            "this process was forked after the RankBuffer library had been loaded and cannot "
            "use it; start workers with the 'spawn' method, or create the first Scorer after "
            "the fork"
        )


def _load() -> Library:
    global _library, _touched, _hooked
    path = _path()
    if not _hooked:
        os.register_at_fork(after_in_child=_after_fork)
        _hooked = True
    _touched = True
    _library = Library(path)
    return _library


def _after_fork() -> None:
    global _library, _forked, _lock
    _lock = threading.Lock()  # another thread may have held it at the fork
    if _touched:
        _library, _forked = None, True


def _path() -> Path:
    override = os.environ.get("RANKBUFFER_LIBRARY")
    path = Path(override) if override else Path(__file__).parent / "_lib" / "librankbuffer.so"
    if not path.is_file():
        hint = (
            "RANKBUFFER_LIBRARY points there"
            if override
            else "install the wheel, or run `make build`"
        )
        raise LibraryError(f"the native library {path} does not exist: {hint}")
    return path
