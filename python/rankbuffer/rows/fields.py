"""The values of fields. An InputError names the field, which is called ``where`` here."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from .. import _encode
from .._encode import number, text
from .._options import known_names
from ..errors import InputError
from ..types import Rubric


@dataclass(frozen=True, kw_only=True)
class Response:
    """One response with what is known of it: its quality and the model that wrote it."""

    text: str
    quality: float | None = None
    model: str | None = None


def rubrics(values: Any, where: str, *, closed: bool = True) -> list[Rubric]:
    """A list of texts or of ``{"text", "weight"?}``."""
    out = []
    for i, value in enumerate(items(values, where)):
        given = _fields(value, f"{where}[{i}]", ("text", "weight"), closed)
        weight = number(given.get("weight", 1), f"{where}[{i}].weight")
        if weight <= 0:
            raise InputError(f"{weight} is not above 0", f"{where}[{i}].weight")
        out.append(Rubric(given["text"], weight=weight))
    return out


def responses(values: Any, where: str, *, closed: bool = True) -> list[Response]:
    """A list of texts or of ``{"text", "quality"?, "model"?}``."""
    out = []
    for i, value in enumerate(items(values, where)):
        given = _fields(value, f"{where}[{i}]", ("text", "quality", "model"), closed)
        if "quality" in given:
            given["quality"] = number(given["quality"], f"{where}[{i}].quality")
        if "model" in given:
            given["model"] = text(given["model"], f"{where}[{i}].model")
        out.append(Response(**given))
    return out


def _fields(value: Any, where: str, names: tuple[str, ...], closed: bool) -> dict[str, Any]:
    """An item of a list: an object with a text, or the text alone."""
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, (Rubric, Response)):
        value = vars(value)
    if not isinstance(value, Mapping):
        optional = ", ".join(f'"{name}"?' for name in names[1:])
        said = f'must be a string or {{"text", {optional}}}, got {type(value).__name__}'
        raise InputError(said, where)
    # Parquet has every field of a struct in every row, with null for none.
    given = {name: item for name, item in value.items() if not absent(item)}
    check_known(given, names if closed else None, where + ".")
    given = {name: item for name, item in given.items() if name in names}
    if value.get("text") is None:
        raise InputError("missing", where + ".text", code="missing_field")
    return given | {"text": text(value["text"], where + ".text")}


def check_known(row: Mapping[str, Any], names: Collection[str] | None, where: str) -> None:
    """InputError for a field of another name, with the names that are known."""
    for name in row:
        if names is not None and name not in names:
            said = f"unknown field, known are {known_names(name, names)}"
            if name == "responses":
                said += "; this is a file of groups, which `rankbuffer score` reads"
            elif name == "epochs":
                said += "; this is a replay file, which `rankbuffer compare` reads"
            raise InputError(said, f"{where}{name}", code="unknown_field")


def absent(value: Any) -> bool:
    """Whether a field is not given, in the words of JSON and of tables."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def items(values: Any, where: str) -> list[Any]:
    """A list, as Python, parquet or a JSON text has it."""
    if absent(values) or (isinstance(values, str) and not values.strip()):
        return []
    if isinstance(values, str):
        try:
            values = json.loads(values)
        except (ValueError, RecursionError) as error:
            said = f"must be a list, or the JSON text of one: {error}"
            raise InputError(said, where) from None
    return _encode.items(values, where)
