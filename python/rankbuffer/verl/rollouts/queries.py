"""What a rollout answers: the query's id, prompt, rubrics and ranked responses, from a verl row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from ..._content import PLACE, ContentCheck, reference, rubrics, texts
from ..._messages import Prompt, prompt_of
from ...errors import InputError
from ...jsonl import read_jsonl, surrogate
from ...rows import parse_side, query_hash, query_id_of


@dataclass(frozen=True, kw_only=True)
class QueryData:
    """One query. ``rubrics`` and ``ranked`` (best first) are empty when not given."""

    query_id: str
    prompt: Prompt
    rubrics: list[dict[str, Any]] = field(default_factory=list)
    ranked: list[str] = field(default_factory=list)
    reference: str | None = None


class SideFile:
    """Rubrics, ranked responses and references by query id, kept out of the rollout rows.

    One file or several, such as those of training and validation data. ``check`` holds
    all rows to the library's rules too: InputError names file, line and field. An owner
    goes without, since that takes a minute for some 100,000 rows and was done before
    the start.
    """

    def __init__(self, paths: str | Sequence[str], *, check: bool = True) -> None:
        self._rows: dict[str, QueryData] = {}
        lines: dict[str, str] = {}
        with ContentCheck() if check else nullcontext() as rules:
            for path in [paths] if isinstance(paths, str) else paths:
                for line, body, row in read_jsonl(path):
                    try:
                        entry = _entry(body, row, rules)
                        known = self._rows.setdefault(entry.query_id, entry)
                        first = lines.setdefault(entry.query_id, f"{path}:{line}")
                        if known != entry:
                            raise InputError(f"query_id {entry.query_id!r} has others in {first}")
                    except InputError as error:
                        problem = str(error).removeprefix(PLACE)
                        raise InputError(f"{path}:{line}: {problem}") from None

    def fill(self, query: QueryData) -> QueryData:
        """The query with what the row left out."""
        aside = self._rows.get(query.query_id)
        if aside is None:
            return query
        return replace(
            query,
            rubrics=query.rubrics or aside.rubrics,
            ranked=query.ranked or aside.ranked,
            reference=query.reference if query.reference is not None else aside.reference,
        )


_ASIDE = ("query_id", "rubrics", "ranked", "reference")


def _entry(body: bytes, row: Mapping[str, Any], rules: ContentCheck | None) -> QueryData:
    """A row of a side file."""
    for name in row:
        if name not in _ASIDE:
            raise InputError(f"{name}: unknown field, known are {', '.join(_ASIDE)}")
    query_id = row.get("query_id")
    if not isinstance(query_id, str) or not query_id:
        raise InputError("query_id: must be a string")
    if problem := surrogate(body, dict(row)):
        raise InputError(problem)
    entry = QueryData(
        query_id=query_id,
        prompt="",
        rubrics=rubrics(row.get("rubrics")),
        ranked=texts(row.get("ranked"), "ranked"),
        reference=reference(row.get("reference")),
    )
    if rules is not None:
        rules.check(parse_side(row))
    return entry


def query_data(row: Mapping[str, Any], info: Mapping[str, Any], multimodal: str) -> QueryData:
    """From a row's columns and its ``extra_info``. InputError says what is wrong."""
    prompt = prompt_of(row.get("raw_prompt"), multimodal)
    return QueryData(
        query_id=query_id(row, info, prompt),
        prompt=prompt,
        rubrics=rubrics(info.get("rubrics")),
        ranked=texts(info.get("ranked"), "ranked"),
        reference=reference(info.get("reference")),
    )


def query_id(row: Mapping[str, Any], info: Mapping[str, Any], prompt: Prompt) -> str:
    """``extra_info.query_id``, else data source and index, else the prompt's hash.

    An index is only unique within a file, so the prompt's hash goes with it.
    """
    given = info.get("query_id")
    if given is not None and given == given and str(given):  # NaN: a table's word for none
        return str(given)
    index = info.get("index", row.get("index"))
    if index is None:
        return query_id_of(prompt)
    source = row.get("data_source")
    return f"{source if source is not None else 'data'}/{index}/{query_hash(prompt)[:8]}"
