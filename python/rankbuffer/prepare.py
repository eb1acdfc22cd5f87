"""JSON lines to the parquet files that verl trains on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._encode import query as check_query
from ._whole import replacing, write_whole
from .errors import ConfigError, InputError
from .jsonl import read_jsonl
from .verl.queries import rubrics, texts

LARGE = 4096
"""Bytes of ranked responses from which they go to a side file: rows are copied for each rollout."""

_FIELDS = {
    "query_id", "query", "rubrics", "ranked", "ranked_responses", "reference", "eligible", "epochs",
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
    prompt: list[dict[str, str]]
    rubrics: list[dict[str, Any]] = field(default_factory=list)
    ranked: list[str] = field(default_factory=list)
    reference: str | None = None

    @property
    def size(self) -> int:
        return sum(len(text.encode()) for text in self.ranked)


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
    Large ones go to ``side_file``, by default beside ``out``, unless ``inline``.
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
    seen: dict[str, int] = {}
    for line, _, given in read_jsonl(source):
        try:
            row = _row(given, line)
        except InputError as error:
            raise InputError(f"{source}:{line}: {error}") from None
        if row.query_id in seen:
            raise InputError(
                f"{source}:{line}: query_id {row.query_id!r} was used on line {seen[row.query_id]}"
            )
        seen[row.query_id] = line
        yield row


def _row(given: Mapping[str, Any], line: int) -> _Row:
    for name in given:
        if name not in _FIELDS:
            known = ", ".join(sorted(_FIELDS))
            raise InputError(f"{name}: unknown field, known are {known}")
    if not given.get("query"):
        raise InputError("query: missing or empty")
    prompt = check_query(given["query"])
    if isinstance(prompt, str):
        prompt = [{"role": "user", "content": prompt}]
    ranked = given.get("ranked", given.get("ranked_responses"))
    reference = given.get("reference")
    if reference is not None and not isinstance(reference, str):
        raise InputError("reference: must be a string")
    try:
        return _Row(
            query_id=str(given.get("query_id") or f"line-{line}"),
            prompt=prompt,
            rubrics=rubrics(given.get("rubrics")),
            ranked=texts(ranked, "ranked"),
            reference=reference,
        )
    except InputError as error:
        raise InputError(str(error).removeprefix("extra_info.")) from None


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
        for row in rows:
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
