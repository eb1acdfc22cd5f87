"""JSON lines to the parquet files that verl trains on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._whole import replacing, write_whole
from .errors import ConfigError, InputError
from .rows import QueryRow, located, parse_query, parse_replay, read_checked

LARGE = 4096
"""Bytes of ranked responses from which they go to a side file: rows are copied for each rollout."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What was written. ``ranked`` counts the rows with ranked responses."""

    rows: int
    ranked: int
    parquet: Path
    side_file: Path | None


def prepare(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    split: str = "train",
    data_source: str = "rankbuffer",
    side_file: str | os.PathLike[str] | None = None,
    inline: bool = False,
) -> Prepared:
    """Writes the parquet file that verl trains on, with one row for each row of ``source``.

    ``source``
        A file of query rows or of replay rows, as `rankbuffer.rows` documents them
        (JSON lines, plain or gzipped). A query may come again with the same content.
    ``out``
        The parquet file.
    ``split``
        ``"train"``. Any other name marks validation data, which changes no buffer.
    ``data_source``
        verl's column of this name.
    ``side_file``
        A file for ranked responses and references, which then are not in the
        parquet file. By default they go to ``OUT.side.jsonl`` if the ranked
        responses of a row are larger than 4,096 bytes, because verl copies a row
        for each rollout. Give its path to verl as ``reward.rankbuffer.side_file``.
    ``inline``
        True keeps them in the parquet file, whatever their size.

    Needs pyarrow: a ConfigError if it is not installed. InputError names the file,
    the line and the field of a row that verl could not train on.
    """
    out = Path(out)
    rows = list(_read(source))
    if not rows:
        raise InputError("holds no queries", file=os.fspath(source))
    large = any(_size(row) > LARGE for row in rows)
    aside = None
    if side_file is not None or (large and not inline):
        aside = Path(side_file) if side_file is not None else out.with_suffix(".side.jsonl")
        _write_side(aside, rows)
    table = [_columns(row, i, split, data_source, aside is None) for i, row in enumerate(rows)]
    _write_parquet(out, table)
    ranked = sum(bool(row.ranked) for row in rows)
    return Prepared(rows=len(rows), ranked=ranked, parquet=out, side_file=aside)


def _read(source: str | os.PathLike[str]) -> Iterator[QueryRow]:
    """The rows, checked. A query may come again, but not with other content."""
    seen: dict[str, tuple[int, QueryRow]] = {}
    for line, _, row in read_checked(source, _parse):
        first, known = seen.setdefault(row.query_id, (line, row))
        if name := row.differs(known) or known.differs(row):
            with located(source, line):
                said = f"is another one than that of query_id {row.query_id!r} on line {first}"
                raise InputError(f"{said}; give each query its own query_id", name)
        yield row


def _parse(row: Mapping[str, Any]) -> QueryRow:
    parsed = parse_replay(row) if "epochs" in row else parse_query(row)
    if isinstance(parsed.query, list):
        for i, message in enumerate(row["query"]):
            for name, value in message.items():
                if value is not None and name not in ("role", "content"):
                    said = "cannot be written: a message in verl's rows has role and content"
                    raise InputError(said, f"query[{i}].{name}")
    return parsed


def _size(row: QueryRow) -> int:
    """The bytes of the ranked responses."""
    return sum(len(text.encode()) for text in row.texts())


def _columns(
    row: QueryRow, index: int, split: str, data_source: str, with_ranked: bool
) -> dict[str, Any]:
    """The columns that verl expects, and ours in ``extra_info``."""
    info: dict[str, Any] = {"split": split, "index": index, "query_id": row.query_id}
    rubrics = [vars(rubric) for rubric in row.rubrics]
    info["rubrics"] = json.dumps(rubrics, ensure_ascii=False) if rubrics else ""
    info["ranked"] = row.texts() if with_ranked else []
    info["reference"] = row.reference if with_ranked and row.reference is not None else ""
    prompt = row.query
    if isinstance(prompt, str):
        prompt = [{"role": "user", "content": prompt}]
    return {
        "data_source": data_source,
        "prompt": prompt,
        "ability": "open-ended",
        "reward_model": {"style": "judge", "ground_truth": ""},
        "extra_info": info,
    }


def _write_side(path: Path, rows: list[QueryRow]) -> None:
    with write_whole(path) as write:
        for row in {row.query_id: row for row in rows}.values():
            entry: dict[str, Any] = {"query_id": row.query_id, "ranked": row.texts()}
            if row.reference is not None:
                entry["reference"] = row.reference
            write(json.dumps(entry, ensure_ascii=False) + "\n")


def _write_parquet(path: Path, table: list[dict[str, Any]]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ConfigError("writing parquet needs pyarrow (pip install pyarrow)") from None
    text = pa.string()
    info = dict.fromkeys(("split", "query_id", "rubrics", "reference"), text)
    schema = {
        "data_source": text,
        "prompt": pa.list_(pa.struct({"role": text, "content": text})),
        "ability": text,
        "reward_model": pa.struct({"style": text, "ground_truth": text}),
        "extra_info": pa.struct(info | {"index": pa.int64(), "ranked": pa.list_(text)}),
    }
    with replacing(path) as part:
        pq.write_table(pa.Table.from_pylist(table, schema=pa.schema(schema)), part)
