"""The errors that RankBuffer raises, and the codes of the C ABI they stand for."""

from __future__ import annotations

import re


class RankBufferError(Exception):
    """Base of every error that RankBuffer raises."""


class RankBufferWarning(UserWarning):
    """A configuration that works and is likely a mistake."""


class ConfigError(RankBufferError, ValueError):
    """A method, a judge or a scorer option is wrong; the message names the field."""


class InputError(RankBufferError, ValueError):
    """A query, a group or a response is wrong; the message names the field. Nothing was changed."""


class LibraryError(RankBufferError):
    """The native library is missing, does not load or is of another version."""


class ClosedError(RankBufferError):
    """The scorer or the judge server was closed."""


class ForkedError(RankBufferError):
    """The process was forked after the library had been loaded; the child cannot use it."""


class StaleError(RankBufferError):
    """The group has no update that still fits, for one because the buffer has moved on since."""


class ConflictError(RankBufferError):
    """The query id is known with other content."""


class NotFoundError(RankBufferError, LookupError):
    """The query or the group is not known to this scorer or file."""


class BusyError(RankBufferError):
    """Too many groups are in flight; wait for some to finish."""


class FileError(RankBufferError, OSError):
    """A file could not be read or written."""


class CheckpointError(RankBufferError):
    """The file is not a checkpoint of ours, is damaged, or was written by a newer version."""


class JudgeError(RankBufferError):
    """The judge failed and the scorer was built with ``on_failure="raise"``."""


class CancelledError(RankBufferError):
    """The group was cancelled before its result was there."""


class InternalError(RankBufferError):
    """The native library failed in a way that is a bug in it; the scorer may still be used."""


# The codes of capi/rankbuffer.h.
INVALID = -1
HANDLE = -2
PANIC = -10
CANCELLED = -12

_BY_CODE: dict[int, type[RankBufferError]] = {
    INVALID: InputError,
    HANDLE: ClosedError,
    -3: StaleError,
    -4: ConflictError,
    -5: NotFoundError,
    -6: BusyError,
    -7: FileError,
    -8: CheckpointError,
    -9: ForkedError,
    PANIC: InternalError,
    -11: JudgeError,
    CANCELLED: CancelledError,
}


# Where the library's names differ: judge.timeout_s, limits.max_groups, deadline_ms.
_NAMES = re.compile(r"\b(judge\.\w+)_s\b|\blimits\.(max_\w+)|\b(deadline)_ms\b")


def in_python(message: str) -> str:
    """The library's message with options named as this package has them."""
    return _NAMES.sub(lambda name: name[name.lastindex or 0], message)


def from_code(code: int, message: str) -> RankBufferError:
    """The error for a negative code of the C ABI, with the library's own message."""
    kind, message = _BY_CODE.get(code), in_python(message)
    if kind is None:
        return InternalError(f"{message or 'the library gave no message'} (unknown code {code})")
    return kind(message or f"the library gave no message (code {code})")
