"""JSON for the library, and the mistakes that JSON cannot carry.

The library checks every value it is given. Only what would be lost or crash on
the way there is checked here: NaN, lone surrogates, values of other types.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, SupportsFloat, SupportsIndex, TypeVar

from .errors import InputError
from .types import Query, Rubric

T = TypeVar("T")

# A deadline of 0 would mean "none" to some calls and "at once" to others; the
# upper bound (30 years) keeps any float within what the library counts in.
_SHORTEST_MS, _LONGEST_MS = 1, 10**12


def encode(value: Any, where: str = "") -> bytes:
    """Value as UTF-8 JSON; what JSON cannot carry raises InputError, naming the field.

    ``where`` is what the value itself is called.
    """
    try:
        # ensure_ascii=False: a third of the size for most scripts, and encoding
        # to UTF-8 finds lone surrogates, which \uXXXX escapes would let through.
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except (TypeError, ValueError, RecursionError) as cause:
        said = f"cannot be written as JSON: {cause}"
        raise _complaint(value, where) or InputError(said, where) from None


def with_texts(document: bytes, name: str, values: list[str]) -> bytes:
    """An encoded object with one more member, a list of texts.

    The responses are most of a group, and encoding them is most of the time for
    which a group holds the GIL: three times faster than json does it, for prose.
    """
    quoted = [_quoted(value, f"{name}[{i}]") for i, value in enumerate(values)]
    return b'%b,"%b":[%b]}' % (document[:-1], name.encode(), b",".join(quoted))


_RARE = bytes(range(0x20)).translate(None, b"\n\r\t")


def _quoted(value: str, where: str) -> bytes:
    """A text as a JSON string."""
    try:
        raw = value.encode()
    except UnicodeEncodeError:
        raise _surrogate(value, where) or InputError("is not valid text", where) from None
    if len(raw.translate(None, _RARE)) != len(raw):
        return encode(value)
    for character, escaped in _ESCAPES:
        raw = raw.replace(character, escaped)
    return b'"%b"' % raw


_ESCAPES = (
    (b"\\", b"\\\\"),  # first: the others bring their own
    (b'"', b'\\"'),
    (b"\n", b"\\n"),
    (b"\r", b"\\r"),
    (b"\t", b"\\t"),
)


def _complaint(value: Any, where: str) -> InputError | None:
    """What is wrong with the first value that JSON cannot carry, and where it is."""
    if value is None or isinstance(value, (bool, int)):
        return None
    if isinstance(value, str):
        return _surrogate(value, where)
    if isinstance(value, float):
        return (
            None if math.isfinite(value) else InputError(f"{value} is not a finite number", where)
        )
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                return InputError(f"the key {key!r} must be a string", where)
            inner = f"{where}.{key}" if where else key
            if found := _surrogate(key, where) or _complaint(item, inner):
                return found
        return None
    if isinstance(value, (list, tuple)):
        return next(
            (found for i, item in enumerate(value) if (found := _complaint(item, f"{where}[{i}]"))),
            None,
        )
    return InputError(f"cannot use a value of type {type(value).__name__}", where)


def _surrogate(text: str, where: str) -> InputError | None:
    try:
        text.encode()
    except UnicodeEncodeError as bad:
        return InputError(
            f"lone surrogate U+{ord(text[bad.start]):04X} at character {bad.start} is not valid "
            'Unicode text; decode the tokens with errors="replace"',
            where,
        )
    return None


def c_string(value: object, where: str) -> bytes:
    """UTF-8 for a char*, which a NUL would cut short."""
    said = text(value, where)
    if "\0" in said:
        raise InputError("must not contain a NUL character", where)
    if found := _surrogate(said, where):
        raise found
    return said.encode()


def text(value: object, where: str) -> str:
    if isinstance(value, str):
        return value
    hint = "; decode it first" if isinstance(value, (bytes, bytearray)) else ""
    raise InputError(f"must be a string, got {type(value).__name__}{hint}", where)


def items(values: Iterable[T], where: str, wanted: str = "a list") -> list[T]:
    """Values as a list; a lone string or a mapping is surely a mistake, a set has no order."""
    problem = ""
    if isinstance(values, (set, frozenset)):
        problem = ", which has no order"
    elif isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)):
        return list(values)
    raise InputError(f"must be {wanted}, got {type(values).__name__}{problem}", where)


def number(value: SupportsFloat, where: str) -> float:
    if isinstance(value, (bool, str, bytes)) or not hasattr(value, "__float__"):
        raise InputError(f"must be a number, got {type(value).__name__}", where)
    try:
        result = float(value)
    except OverflowError:  # a large int
        result = math.inf
    if not math.isfinite(result):
        raise InputError(f"{result} is not a finite number", where)
    return result


def integer(value: SupportsIndex, where: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise InputError(f"must be an integer, got {type(value).__name__}", where) from None


def flag(value: object, where: str) -> bool:
    """A truth value: a bool, numpy's, or 0 and 1."""
    try:
        known = not isinstance(value, (str, bytes)) and bool(value == 0 or value == 1)
    except ValueError:  # an array of several
        known = False
    if not known:
        raise InputError(f"must be true or false, got {value!r}", where)
    return bool(value)


def eligible(value: object, where: str = "eligible") -> bool:
    """Whether a response takes part; None is what a table has where a row says nothing."""
    return value is None or flag(value, where)


def each(write: Callable[[Any, str], T]) -> Callable[[Iterable[Any], str], list[T]]:
    """What writes a list of which ``write`` writes one item."""

    def list_of(values: Iterable[Any], where: str) -> list[T]:
        return [write(value, f"{where}[{i}]") for i, value in enumerate(items(values, where))]

    return list_of


texts, numbers, flags = each(text), each(number), each(flag)


def milliseconds(seconds: SupportsFloat, where: str) -> int:
    given = number(seconds, where)
    if given < 0:
        raise InputError(f"{given} seconds is negative", where)
    return round(min(max(given * 1000, _SHORTEST_MS), _LONGEST_MS))


def query(value: Query, where: str) -> str | list[Any]:
    """A query as text or as chat messages. The library reads messages as trainers write them."""
    wanted = "a text or a list of chat messages"
    return value if isinstance(value, str) else items(value, where, wanted)


def rubrics(values: Iterable[Rubric | str | Mapping[str, Any]], where: str) -> list[Any]:
    """Rubrics as the library reads them: texts, or objects with a text and a weight."""
    out: list[Any] = items(values, where)
    for i, value in enumerate(out):
        if isinstance(value, Rubric):
            weight = number(value.weight, f"{where}[{i}].weight")
            out[i] = {"text": value.text, "weight": weight}
        elif isinstance(value, str):
            out[i] = {"text": value}
    return out
