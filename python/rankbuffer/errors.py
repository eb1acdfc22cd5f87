"""The errors that RankBuffer raises, and the codes of the C ABI they stand for."""

from __future__ import annotations


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
    """The scorer, the group or the judge server was closed, or a group was fed after its end."""


class ForkedError(RankBufferError):
    """The process was forked after the library had been loaded; the child cannot use it."""


class StaleError(RankBufferError):
    """The buffer has moved on since this group was scored, so its update no longer fits."""


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


def from_code(code: int, message: str) -> RankBufferError:
    """The error for a negative code of the C ABI, with the library's own message."""
    kind = _BY_CODE.get(code)
    if kind is None:
        return InternalError(f"{message or 'the library gave no message'} (unknown code {code})")
    return kind(message or f"the library gave no message (code {code})")
