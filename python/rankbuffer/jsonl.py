"""JSON lines, plain or gzipped, with errors that name file and line."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, NoReturn

from ._encode import encode
from .errors import InputError

_GZIP = b"\x1f\x8b"
_BOM = "convert the file to UTF-8 without a byte order mark (BOM)"


def read_jsonl(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    """Each row as its line number (from 1), its bytes without the line end, and the object in it.

    Blank lines are skipped. Whether a file is gzipped is read from its first
    bytes. InputError for anything that is not one UTF-8 JSON object a line.
    """
    path = Path(path)
    line = 0
    try:
        with _open(path) as file:
            for line, raw in enumerate(file, start=1):
                if body := raw.strip():
                    yield line, body, _object(body, f"{path}:{line}")
    except (EOFError, gzip.BadGzipFile, zlib.error) as cause:
        raise InputError(f"{path}:{line + 1}: the gzip data is damaged: {cause}") from None
    except OSError as cause:
        raise InputError(f"{path}: cannot be read: {cause.strerror or cause}") from None


def surrogate(body: bytes, row: dict[str, Any]) -> str | None:
    r"""Names the field of a row that is no Unicode text: half of a pair of \ud8xx\udcxx escapes."""
    if rb"\ud" not in body.lower():  # UTF-8 itself cannot hold one
        return None
    try:
        encode(row)
    except InputError as cause:
        return str(cause)
    return None


def _open(path: Path) -> BufferedReader | gzip.GzipFile:
    with path.open("rb") as file:
        zipped = file.read(len(_GZIP)) == _GZIP
    return gzip.GzipFile(path) if zipped else path.open("rb")


def _object(body: bytes, where: str) -> dict[str, Any]:
    if body.startswith(codecs.BOM_UTF8):
        raise InputError(f"{where}: begins with a byte order mark; {_BOM}")
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{where}: is UTF-16; {_BOM}")
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_not_json)
    except UnicodeDecodeError as cause:
        raise InputError(
            f"{where}: not UTF-8 at byte {cause.start + 1} of the line; convert the file first"
        ) from None
    except json.JSONDecodeError as cause:
        raise InputError(f"{where}: not JSON at column {cause.colno}: {cause.msg}") from None
    except (ValueError, RecursionError) as cause:
        raise InputError(f"{where}: not JSON: {cause}") from None
    if not isinstance(value, dict):
        raise InputError(f"{where}: each line must hold one JSON object, got {_kind(value)}")
    return value


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _kind(value: object) -> str:
    names = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
