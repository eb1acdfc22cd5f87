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

from ..errors import InputError

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
                    yield line, body, _object(body, str(path), line)
    except (EOFError, gzip.BadGzipFile, zlib.error) as cause:
        said = f"the gzip data is damaged: {cause}"
        raise InputError(said, file=str(path), line=line + 1) from None
    except OSError as cause:
        said = f"cannot be read: {cause.strerror or cause}"
        raise InputError(said, file=str(path)) from None


def _open(path: Path) -> BufferedReader | gzip.GzipFile:
    with path.open("rb") as file:
        zipped = file.read(len(_GZIP)) == _GZIP
    return gzip.GzipFile(path) if zipped else path.open("rb")


def _object(body: bytes, file: str, line: int) -> dict[str, Any]:
    if body.startswith(codecs.BOM_UTF8):
        problem = f"begins with a byte order mark; {_BOM}"
    elif body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        problem = f"is UTF-16; {_BOM}"
    else:
        try:
            value = json.loads(body.decode("utf-8"), parse_constant=_not_json)
            if isinstance(value, dict):
                return value
            problem = f"each line must hold one JSON object, got {type(value).__name__}"
        except UnicodeDecodeError as cause:
            problem = f"not UTF-8 at byte {cause.start + 1} of the line; convert the file first"
        except json.JSONDecodeError as cause:
            problem = f"not JSON at column {cause.colno}: {cause.msg}"
        except (ValueError, RecursionError) as cause:
            problem = f"not JSON: {cause}"
    raise InputError(problem, file=file, line=line, code="invalid_json")


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")
