"""JSON lines to the parquet files that verl trains on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._content import PLACE, ContentCheck, reference, rubrics, texts
from ._encode import query as check_query
from ._messages import Prompt, prompt_of
from ._whole import replacing, write_whole
from .errors import ConfigError, InputError
from .jsonl import read_jsonl, surrogate
from .loop import query_id_of

LARGE = 4096
"""Bytes of ranked responses from which they go to a side file: rows are copied for each rollout."""

_FIELDS = {
    "query_id", "query", "rubrics", "ranked", "ranked_responses", "reference", "epochs",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What was written. ``side_file`` is None when everything fits into the rows."""

    rows: int
    ranked: int
    parquet: Path
    side_file: Path | None


@dataclass(frozen=True, kw_only=True)
class _Row:
    query_id: str
    query: Prompt
    rubrics: list[dict[str, Any]] = field(default_factory=list)
    ranked: list[str] = field(default_factory=list)
    reference: str | None = None

    @property
    def size(self) -> int:
        return sum(len(text.encode()) for text in self.ranked)

    @property
    def prompt(self) -> list[dict[str, str]]:
        """As chat messages, which verl's rows have."""
        if isinstance(self.query, str):
            return [{"role": "user", "content": self.query}]
        return self.query

    def differs(self, other: _Row) -> str | None:
        """The first field that is another's."""
        names = ("query", "rubrics", "ranked", "reference")
        return next((n for n in names if getattr(self, n) != getattr(other, n)), None)


def prepare(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    split: str = "train",
    data_source: str = "rankbuffer",
    side_file: str | os.PathLike[str] | None = None,
    inline: bool = False,
) -> Prepared:
    """Writes one row for each query: ``{"query_id"?, "query", "rubrics"?, "ranked"?, ...}``.

    ``ranked`` (texts, best first) may also be a replay file's ``ranked_responses``.
    Large ones go to ``side_file``, by default beside ``out``, unless ``inline``. A query
    without ``query_id`` is named after its content, in every file alike.
    """
    out = Path(out)
    rows = list(_read(source))
    if not rows:
        raise InputError(f"{source}: holds no queries")
    large = any(row.size > LARGE for row in rows)
    aside = None
    if side_file is not None or (large and not inline):
        aside = Path(side_file) if side_file is not None else out.with_suffix(".side.jsonl")
        _write_side(aside, rows)
    table = [_columns(row, i, split, data_source, aside is None) for i, row in enumerate(rows)]
    _write_parquet(out, table)
    ranked = sum(bool(row.ranked) for row in rows)
    return Prepared(rows=len(rows), ranked=ranked, parquet=out, side_file=aside)


def _read(source: str | os.PathLike[str]) -> Iterator[_Row]:
    """The rows, checked. A query may come again, but not with other content."""
    seen: dict[str, tuple[int, _Row]] = {}
    with ContentCheck() as check:
        for line, body, given in read_jsonl(source):
            try:
                if problem := surrogate(body, given):
                    raise InputError(problem)
                row = _row(given)
                check.check(row.query, row.rubrics, row.ranked)
                first, known = seen.setdefault(row.query_id, (line, row))
                if name := row.differs(known):
                    raise InputError(f"{name}: {_other(given, row, first)}")
            except InputError as error:
                problem = str(error).removeprefix(PLACE)
                raise InputError(f"{source}:{line}: {problem}") from None
            yield row


def _other(given: Mapping[str, Any], row: _Row, first: int) -> str:
    if given.get("query_id"):
        return f"is another one than that of query_id {row.query_id!r} on line {first}"
    return f"is another one than that of the same query on line {first}; give each a query_id"


def _row(given: Mapping[str, Any]) -> _Row:
    for name in given:
        if name not in _FIELDS:
            known = ", ".join(sorted(_FIELDS))
            raise InputError(f"{name}: unknown field, known are {known}")
    if not given.get("query"):
        raise InputError("query: missing or empty")
    query = _query(given["query"])
    return _Row(
        query_id=_query_id(given.get("query_id")) or query_id_of(query),
        query=query,
        rubrics=rubrics(given.get("rubrics")),
        ranked=texts(given.get("ranked", given.get("ranked_responses")), "ranked"),
        reference=reference(given.get("reference")),
    )


def _query(given: Any) -> Prompt:
    """As the reward manager will read it from verl's row."""
    given = check_query(given)
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
    try:
        return prompt_of(messages, "refuse")
    except InputError as error:
        raise InputError(f"query{str(error).removeprefix('raw_prompt')}") from None


def _query_id(given: Any) -> str | None:
    if given is None or given == "":
        return None
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        raise InputError("query_id: must be a string")
    return str(given)


def _columns(
    row: _Row, index: int, split: str, data_source: str, with_ranked: bool
) -> dict[str, Any]:
    """The columns that verl expects, and ours in ``extra_info``."""
    info: dict[str, Any] = {"split": split, "index": index, "query_id": row.query_id}
    info["rubrics"] = json.dumps(row.rubrics, ensure_ascii=False) if row.rubrics else ""
    info["ranked"] = row.ranked if with_ranked else []
    info["reference"] = row.reference if with_ranked and row.reference is not None else ""
    return {
        "data_source": data_source,
        "prompt": row.prompt,
        "ability": "open-ended",
        "reward_model": {"style": "judge", "ground_truth": ""},
        "extra_info": info,
    }


def _write_side(path: Path, rows: list[_Row]) -> None:
    with write_whole(path) as write:
        for row in {row.query_id: row for row in rows}.values():
            entry: dict[str, Any] = {"query_id": row.query_id, "ranked": row.ranked}
            if row.reference is not None:
                entry["reference"] = row.reference
            write(json.dumps(entry, ensure_ascii=False) + "\n")


def _write_parquet(path: Path, table: list[dict[str, Any]]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ConfigError("writing parquet needs pyarrow (pip install pyarrow)") from None
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    schema = pa.schema(
        [
            ("data_source", pa.string()),
            ("prompt", pa.list_(message)),
            ("ability", pa.string()),
            ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", pa.string())])),
            (
                "extra_info",
                pa.struct(
                    [
                        ("split", pa.string()),
                        ("index", pa.int64()),
                        ("query_id", pa.string()),
                        ("rubrics", pa.string()),
                        ("ranked", pa.list_(pa.string())),
                        ("reference", pa.string()),
                    ]
                ),
            ),
        ]
    )
    with replacing(path) as part:
        pq.write_table(pa.Table.from_pylist(table, schema=schema), part)
