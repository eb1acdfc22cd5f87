"""Replay files: queries with ranked responses and the rollouts of several epochs.

One JSON object a line, plain or gzipped::

    {"query_id", "query", "rubrics"?: [{"text", "weight"?}],
     "ranked_responses": [{"text", "quality"?, "model"?}] best first,
     "epochs": [[{"text", "quality"?, "model"?}]] rollouts of each epoch}

``quality`` is a number on any scale, higher is better. It is what results are
compared with, and what the simulated judge perceives.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._encode import query as check_query
from .errors import InputError
from .jsonl import read_jsonl, surrogate
from .types import Rubric

SAMPLE = Path(__file__).parent / "data" / "sample.jsonl"
"""The sample that comes with the package: 12 queries, 7 ranked answers, 4 epochs of 6 rollouts."""

_FIELDS = {"query_id", "query", "rubrics", "ranked_responses", "epochs"}


@dataclass(frozen=True, kw_only=True)
class ReplayText:
    """One response of a replay file."""

    text: str
    quality: float | None = None
    model: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReplayQuery:
    """One query of a replay file: ``ranked`` best first, ``epochs[e]`` the rollouts of epoch e."""

    query_id: str
    query: str | list[dict[str, str]]
    rubrics: list[Rubric] | None
    ranked: list[ReplayText]
    epochs: list[list[ReplayText]]

    def texts(self) -> Iterable[ReplayText]:
        """Every response, the ranked ones first."""
        yield from self.ranked
        for rollouts in self.epochs:
            yield from rollouts


def find_replay(name: str | os.PathLike[str]) -> Path:
    """The path, but for the name ``sample``, which is the sample unless such a file exists."""
    path = Path(name)
    return SAMPLE if os.fspath(name) == "sample" and not path.exists() else path


def read_replay(path: str | os.PathLike[str]) -> list[ReplayQuery]:
    """The queries of a replay file in file order. InputError names file, line and field."""
    queries: list[ReplayQuery] = []
    lines: dict[str, int] = {}
    for line, body, row in read_jsonl(path):
        try:
            if complaint := surrogate(body, row):
                raise InputError(complaint)
            query = _query(row)
        except InputError as error:
            raise InputError(f"{path}:{line}: {error}") from None
        if query.query_id in lines:
            first = lines[query.query_id]
            raise InputError(f"{path}:{line}: query_id {query.query_id!r} was used on line {first}")
        lines[query.query_id] = line
        queries.append(query)
    if not queries:
        raise InputError(f"{path}: holds no queries")
    return queries


def qualities(queries: Iterable[ReplayQuery]) -> dict[str, float]:
    """What ``SimulatedJudge(qualities=...)`` takes.

    The judge knows texts, not queries, so one text with two qualities is an error.
    """
    found: dict[str, float] = {}
    for query in queries:
        for response in query.texts():
            quality = response.quality
            if quality is None:
                raise InputError(
                    f"query {query.query_id!r}: the simulated judge needs a quality for each "
                    f"response, there is none for {response.text[:40]!r}"
                )
            if found.setdefault(response.text, quality) != quality:
                raise InputError(
                    f"query {query.query_id!r}: qualities {found[response.text]} and {quality} "
                    f"for the same text {response.text[:40]!r}"
                )
    return found


def _query(row: dict[str, Any]) -> ReplayQuery:
    _known(row, _FIELDS, "")
    for name in ("query_id", "query", "ranked_responses", "epochs"):
        if name not in row:
            raise InputError(f"{name}: missing")
    ranked = _responses(row["ranked_responses"], "ranked_responses")
    epochs = [
        _responses(rollouts, f"epochs[{e}]")
        for e, rollouts in enumerate(_list(row["epochs"], "epochs"))
    ]
    for e, rollouts in enumerate(epochs):
        if not rollouts:
            raise InputError(f"epochs[{e}]: must hold at least 1 response")
    if not epochs:
        raise InputError("epochs: must hold at least 1 epoch")
    query_id = _text(row["query_id"], "query_id")
    if not query_id:
        raise InputError("query_id: must not be empty")
    query = check_query(row["query"])
    if not query:
        raise InputError("query: must not be empty")
    rubrics = row.get("rubrics")
    return ReplayQuery(
        query_id=query_id,
        query=query,
        rubrics=None if rubrics is None else _rubrics(rubrics),
        ranked=ranked,
        epochs=epochs,
    )


def _responses(values: Any, where: str) -> list[ReplayText]:
    out = []
    for i, value in enumerate(_list(values, where)):
        at = f"{where}[{i}]"
        if not isinstance(value, dict):
            raise InputError(f'{at}: must be {{"text", "quality"?, "model"?}}')
        _known(value, {"text", "quality", "model"}, at + ".")
        if "text" not in value:
            raise InputError(f"{at}.text: missing")
        quality, model = value.get("quality"), value.get("model")
        out.append(
            ReplayText(
                text=_text(value["text"], f"{at}.text"),
                quality=None if quality is None else _number(quality, f"{at}.quality"),
                model=None if model is None else _text(model, f"{at}.model"),
            )
        )
    return out


def _rubrics(values: Any) -> list[Rubric]:
    out = []
    for i, value in enumerate(_list(values, "rubrics")):
        at = f"rubrics[{i}]"
        if not isinstance(value, dict) or "text" not in value:
            raise InputError(f'{at}: must be {{"text", "weight"?}}')
        _known(value, {"text", "weight"}, at + ".")
        weight = _number(value.get("weight", 1), f"{at}.weight")
        if weight <= 0:
            raise InputError(f"{at}.weight: {weight} is not above 0")
        out.append(Rubric(_text(value["text"], f"{at}.text"), weight=weight))
    return out


def _known(row: dict[str, Any], names: set[str], where: str) -> None:
    for name in row:
        if name not in names:
            known = f"{where}{name}: unknown field, known are {', '.join(sorted(names))}"
            raise InputError(known + hint(row, name))


def hint(row: Mapping[str, Any], name: str) -> str:
    """For a field unknown here: what it is called here, or what reads files that have it."""
    if "responses" in row and name in ("responses", "ranked"):
        return "; this is a file of groups, which `rankbuffer score` reads"
    if "epochs" in row and name in ("epochs", "ranked_responses"):
        return "; this is a replay file, which `rankbuffer compare` reads"
    if name == "ranked":
        return '; a replay file has ranked_responses, a list of {"text", "quality"?}'
    if name == "ranked_responses":
        return "; a file of groups has ranked, a list of texts, best first"
    return ""


def _list(value: Any, where: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise InputError(f"{where}: must be a list")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where}: must be a string")
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{where}: must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{where}: must be a finite number")
    return number
