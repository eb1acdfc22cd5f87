"""The errors that RankBuffer raises. core/fault/README.md lists their codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

# What each code means, for errors that Python raises itself: the library may not
# be loaded. A test compares them with core/fault.
_SUMMARIES = {
    "invalid_json": "this is not valid JSON",
    "unknown_field": "this field is unknown",
    "missing_field": "this field is needed and missing",
    "invalid_value": "this value cannot be used",
    "query_conflict": "this query id was given other content before",
    "unknown_query": "this query id is unknown",
    "closed": "the scorer was closed, or the handle is unknown",
    "stale_update": "the group has no update that still fits its buffer",
    "busy": "a limit is reached, or other work is in flight",
    "cancelled": "the group was cancelled",
    "file_error": "a file could not be read or written",
    "checkpoint_damaged": "the checkpoint is damaged or incomplete",
    "judge_unreachable": "the judge cannot be reached",
    "forked": "the process was forked after it had loaded the library",
    "internal": "an internal error, please report it",
    "library_unavailable": "the native library cannot be loaded",
}


class RankBufferError(Exception):
    """Base of every error that RankBuffer raises. ``str(error)`` is the full text.

    ``code``
        The kind of failure, one of the list in core/fault/README.md, such as
        ``"judge_unauthorized"``.
    ``summary``
        One sentence that is safe to log: it names the field, and quotes neither
        a judge nor a response nor a file's content.
    ``detail``
        The full text, which may quote them.
    ``field``, ``file``, ``line``
        What the error is about, such as ``"method.rankbuffer.k0"``; ``""`` and 0
        where there is no such thing. Lines count from 1.
    """

    # On instances only: Ray forwards what its own error class, made from this one, lacks.
    code: str
    summary: str
    field: str
    file: str
    line: int

    _code = "invalid_value"

    def __init__(
        self, said: str = "", field: str = "", *, code: str = "", file: str = "", line: int = 0
    ) -> None:
        super().__init__(_joined(_joined(f"{file}:{line}" if line else file, field), said))
        self.code = code or self._code
        self.field, self.file, self.line = field, file, line
        self.summary = _joined(field, _SUMMARIES.get(self.code, ""))

    @property
    def detail(self) -> str:
        return str(self)

    def within(
        self, parent: str = "", kind: type[RankBufferError] | None = None
    ) -> RankBufferError:
        """The same error about a field of ``parent``, as another class of error if given."""
        field = ".".join(part for part in (parent, self.field) if part).replace(".[", "[")
        place = str(type(self)("", self.field, file=self.file, line=self.line))
        said = str(self).removeprefix(place).removeprefix(": ")
        error = (kind or type(self))(said, field, code=self.code, file=self.file, line=self.line)
        error.summary = _joined(field, self.summary.removeprefix(f"{self.field}: "))
        return error


class RankBufferWarning(UserWarning):
    """A configuration that works and is likely a mistake."""


class ConfigError(RankBufferError, ValueError):
    """An option of a method, of a judge or of the scorer is wrong."""


class InputError(RankBufferError, ValueError):
    """A query, a group or a response is wrong. Nothing was changed."""


class LibraryError(RankBufferError):
    """The native library is missing, does not load or is of another version."""

    _code = "library_unavailable"


class ClosedError(RankBufferError):
    """The scorer or the judge server was closed."""

    _code = "closed"


class ForkedError(RankBufferError):
    """The process was forked after it had loaded the library, which the child cannot use."""

    _code = "forked"


class StaleError(RankBufferError):
    """The group has no update that still fits: it was applied, or the buffer has changed since."""

    _code = "stale_update"


class ConflictError(RankBufferError):
    """The query id is known with other content."""

    _code = "query_conflict"


class NotFoundError(RankBufferError, LookupError):
    """The scorer or the file does not know the query or the group."""

    _code = "unknown_query"


class BusyError(RankBufferError):
    """Too many groups are in flight; wait for some to finish."""

    _code = "busy"


class FileError(RankBufferError, OSError):
    """A file could not be read or written."""

    _code = "file_error"


class CheckpointError(RankBufferError):
    """The file is no RankBuffer checkpoint, is damaged, or was written by a newer version."""

    _code = "checkpoint_damaged"


class JudgeError(RankBufferError):
    """The judge failed and the scorer was built with ``on_failure="raise"``."""

    _code = "judge_unreachable"


class CancelledError(RankBufferError):
    """The group was cancelled before it had a result."""

    _code = "cancelled"


class InternalError(RankBufferError):
    """The native library has a bug. The scorer may still be used."""

    _code = "internal"


def _joined(first: str, second: str) -> str:
    return f"{first}: {second}" if first and second else first or second


# By the return codes of capi/rankbuffer.h, one for each group of codes.
_BY_STATUS: dict[int, type[RankBufferError]] = {
    -1: InputError,
    -2: ClosedError,
    -3: StaleError,
    -4: ConflictError,
    -5: NotFoundError,
    -6: BusyError,
    -7: FileError,
    -8: CheckpointError,
    -9: ForkedError,
    -10: InternalError,
    -11: JudgeError,
    -12: CancelledError,
}


def from_library(told: Mapping[str, Any]) -> RankBufferError:
    """The error that the library tells of as a JSON object, in rb_last_error and rb_poll."""
    error = _BY_STATUS.get(told["status"], InternalError)(told["message"])
    error.code, error.line = told["code"], told.get("line", 0)
    error.field, error.file = told.get("field", ""), told.get("file", "")
    error.summary = told["summary"]
    return error


@contextmanager
def of_the_config() -> Iterator[None]:
    """Within it a wrong value is a mistake in the configuration: a ConfigError."""
    try:
        yield
    except InputError as error:
        raise error.within(kind=ConfigError) from None
