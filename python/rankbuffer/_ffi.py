"""The native library. No other file uses ctypes.

``library()`` loads it on first use, not at import, so that a process that has only
imported the package may still fork. In a child that was forked later it raises
ForkedError: Go's threads are not in the child, and calls would hang.

The functions are bound twice. PyDLL keeps the GIL and serves calls that never block:
after giving the GIL up, a call may wait 5 ms for a busy thread to return it, far
longer than the call takes. CDLL gives the GIL up and serves calls that wait or copy
much.

A process that uses faulthandler must enable it before the library loads, so that Go's
handler for SIGSEGV stays the outer one.
"""

from __future__ import annotations

import ctypes
import json
import os
import threading
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Final, cast

from .errors import ForkedError, InputError, LibraryError, from_library

ABI_VERSION: Final = 1

# The library reads about 1 KB of a document in 25 us. Other threads should not wait for
# the GIL while it reads more bytes than this.
_LARGE: Final = 8 * 1024


class Ticket(c_uint64):
    """Where the library writes the ticket of a submitted group; its value is 0 until it has.

    The caller makes it before the call, so that a KeyboardInterrupt that lands
    right after the call still finds the ticket to cancel.
    """


class Library:
    """The functions of capi/rankbuffer.h, with their errors raised.

    Handles are plain integers, documents are bytes. All functions are safe to call
    from any thread.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._slow = ctypes.CDLL(str(path))
        except OSError as error:
            raise LibraryError(f"cannot load {path}: {error}") from error
        self._path = path
        # The same dlopen handle, called with the GIL held.
        self._quick = ctypes.PyDLL(str(path), handle=self._slow._handle)
        _check_version(self._quick, path)
        self._last_error = self._bound(self._quick, "rb_last_error", c_char_p)
        self._free = self._bound(self._quick, "rb_free", None, c_void_p)
        self._version = self._bound(self._quick, "rb_version", c_char_p)
        self.handles_open = self._bound(self._quick, "rb_handles_open", c_int32)

        # Calls that never block are made with the GIL held; those that wait, read files
        # or copy much without it.
        quick, slow, by_size = self._quick, self._slow, None
        self.prompt_template = self._text(quick, "rb_prompt_template", c_char_p)

        self.check = self._call(slow, "rb_check", c_char_p)
        self.scorer_new = self._handle(slow, "rb_scorer_new", c_char_p)
        self.scorer_close = self._call(slow, "rb_scorer_close", c_uint64, c_int64)
        self.judge_check = self._call(slow, "rb_judge_check", c_uint64, c_int64)
        self.rubrics_write = self._text(slow, "rb_rubrics_write", c_uint64, c_char_p)
        self.stats = self._text(slow, "rb_stats", c_uint64)

        self.buffer_create = self._call(by_size, "rb_buffer_create", c_uint64, c_char_p)
        self.buffer_get = self._text(slow, "rb_buffer_get", c_uint64, c_char_p)
        self.update = self._call(slow, "rb_update", c_uint64, c_char_p)
        self.snapshot = self._call(slow, "rb_snapshot", c_uint64, c_char_p)
        self.restore = self._call(slow, "rb_restore", c_uint64, c_char_p)
        self.journal = self._call(slow, "rb_journal", c_uint64, c_char_p, c_char_p)
        self.restore_from = self._text(slow, "rb_restore_from", c_uint64, c_char_p)
        self.inspect = self._text(slow, "rb_inspect", c_char_p, c_char_p)

        ticket = POINTER(c_uint64)
        self.score_submit = self._call(by_size, "rb_score_submit", c_uint64, c_char_p, ticket)
        self.group_open = self._call(quick, "rb_group_open", c_uint64, c_char_p, c_int32, ticket)
        self.group_add = self._call(by_size, "rb_group_add", c_uint64, c_uint64, c_int32, c_char_p)
        self.group_close = self._call(quick, "rb_group_close", c_uint64, c_uint64)
        self.cancel = self._call(quick, "rb_cancel", c_uint64, c_uint64)
        self.poll = self._text(quick, "rb_poll", c_uint64)
        self._event_fd = self._call(quick, "rb_event_fd", c_uint64, POINTER(c_int32))

        self.sim_start = self._handle(slow, "rb_sim_start", c_char_p)
        self.sim_url = self._text(slow, "rb_sim_url", c_uint64)
        self.sim_stop = self._call(slow, "rb_sim_stop", c_uint64, c_int64)

    def version(self) -> str:
        return bytes(self._version() or b"").decode()

    def event_fd(self, handle: int) -> int:
        out = c_int32(-1)
        self._event_fd(handle, byref(out))
        return out.value

    def _bound(self, dll: Any, name: str, returned: Any, *arguments: Any) -> Callable[..., Any]:
        try:
            function = getattr(dll, name)
        except AttributeError as error:
            said = f"{self._path} has no {name}; rebuild or reinstall rankbuffer"
            raise LibraryError(said) from error
        function.restype, function.argtypes = returned, arguments
        return cast("Callable[..., Any]", function)

    def _call(self, dll: Any, name: str, *arguments: Any) -> Callable[..., None]:
        """A function that returns a code. Without ``dll`` it is slow if it is given much."""
        slow = self._bound(dll or self._slow, name, c_int32, *arguments)
        quick = self._bound(dll or self._quick, name, c_int32, *arguments)

        def call(*given: Any) -> None:
            much = any(isinstance(one, bytes) and len(one) > _LARGE for one in given)
            if (slow if much else quick)(*given) < 0:
                raise from_library(json.loads(self._last_error()))

        return call

    def _handle(self, dll: Any, name: str, *arguments: Any) -> Callable[..., int]:
        """A function whose output is a handle."""
        call = self._call(dll, name, *arguments, POINTER(c_uint64))

        def new(*given: Any) -> int:
            out = c_uint64(0)
            call(*given, byref(out))
            return out.value

        return new

    def _text(self, dll: Any, name: str, *arguments: Any) -> Callable[..., bytes]:
        """A function whose output is a text, which is copied and freed here."""
        call = self._call(dll, name, *arguments, POINTER(c_void_p))

        def text(*given: Any) -> bytes:
            out = c_void_p(None)
            call(*given, byref(out))
            try:
                return ctypes.string_at(out.value) if out.value else b""
            finally:
                self._free(out)

        return text


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


def unmap_large_blocks() -> None:
    """Has glibc give blocks of 128 KiB and more back to the system whenever they are freed.

    That is its default, but it raises the size with each such block that is freed.
    """
    m_mmap_threshold = -3
    ctypes.CDLL(None).mallopt(m_mmap_threshold, 128 << 10)


def trim_memory() -> None:
    """Has glibc give free memory back to the system. Takes some milliseconds."""
    ctypes.CDLL(None).malloc_trim(0)


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
