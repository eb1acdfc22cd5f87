"""What comes with a query, as parquet, JSON text or JSON lines have it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ._encode import number
from .errors import InputError
from .judges import SimulatedJudge
from .rows import QueryRow
from .scorer import Scorer

PLACE = "extra_info."
"""Where verl's rows have it; the names of fields in errors begin with it."""


def rubrics(given: Any) -> list[dict[str, Any]]:
    """A list of ``{"text", "weight"}``, as it comes out of parquet or as JSON text."""
    out = []
    for i, value in enumerate(_list(given, "rubrics")):
        if isinstance(value, str):
            value = {"text": value}
        if not isinstance(value, Mapping) or not isinstance(value.get("text"), str):
            raise InputError(f'{PLACE}rubrics[{i}]: must be {{"text", "weight"}}')
        weight = value.get("weight")
        where = f"{PLACE}rubrics[{i}].weight"
        out.append(
            {"text": value["text"], "weight": 1.0 if weight is None else number(weight, where)}
        )
    return out


def texts(given: Any, name: str) -> list[str]:
    """A list of texts, as it comes out of parquet or as JSON text."""
    out = []
    for i, value in enumerate(_list(given, name)):
        if isinstance(value, Mapping):
            value = value.get("text")
        if not isinstance(value, str):
            raise InputError(f"{PLACE}{name}[{i}]: must be a string")
        out.append(value)
    return out


def reference(given: Any) -> str | None:
    """A text; nothing stands for none."""
    if given is not None and not isinstance(given, str):
        raise InputError(f"{PLACE}reference: must be a string")
    return given or None


def _list(given: Any, name: str) -> Sequence[Any]:
    if given is None:
        return []
    if isinstance(given, str):
        if not given.strip():
            return []
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{PLACE}{name}: not JSON: {error}") from None
    if isinstance(given, Mapping) or not hasattr(given, "__iter__"):
        raise InputError(f"{PLACE}{name}: must be a list")
    return list(given)


class ContentCheck:
    """The library's own rules for a query, without a judge. Loads the library.

    For files, whose mistakes should be found before a group of the query is scored.
    """

    def __init__(self) -> None:
        self._scorer = Scorer(judge=SimulatedJudge(qualities={}))
        self._number = 0

    def check(self, row: QueryRow) -> None:
        """InputError names the field that cannot be used."""
        self._number += 1
        name = str(self._number)
        try:
            self._scorer.create_buffer(name, **({"query": "any"} | row.content()))
        except InputError as error:
            said = str(error).removeprefix(f'query "{name}": {error.field}: ')
            raise InputError(said, error.field, code=error.code) from None

    def __enter__(self) -> ContentCheck:
        return self

    def __exit__(self, *exc: object) -> None:
        self._scorer.close()
