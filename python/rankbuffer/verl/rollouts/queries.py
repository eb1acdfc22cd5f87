"""The query of a rollout: from its row, completed from side files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...errors import InputError
from ...rows import (
    QueryRow,
    located,
    parse_prompt,
    parse_query,
    parse_query_id,
    parse_side,
    query_hash,
    read,
    read_checked,
)  # fmt: skip


class SideFile:
    """Rubrics, ranked responses and references by query id, which the rows leave out.

    There may be several files, such as those of training and of validation data.
    InputError names file, line and field. ``check`` also applies the library's own rules
    to each row. An owner leaves that out, since it takes a minute for 100,000 rows and
    was done before the start.
    """

    def __init__(self, paths: str | Sequence[str], *, check: bool = True) -> None:
        self._rows: dict[str, QueryRow] = {}
        places: dict[str, str] = {}
        rows = read_checked if check else read
        for path in [paths] if isinstance(paths, str) else paths:
            for line, _, row in rows(path, parse_side):
                first = places.setdefault(row.query_id, f"{path}:{line}")
                if self._rows.setdefault(row.query_id, row) != row:
                    with located(path, line):
                        said = f"{row.query_id!r} has other content in {first}"
                        raise InputError(said, "query_id")

    def fill(self, query: QueryRow) -> QueryRow:
        """The query with what the row left out."""
        aside = self._rows.get(query.query_id)
        if aside is None:
            return query
        return replace(
            query,
            rubrics=query.rubrics or aside.rubrics,
            ranked=query.ranked or aside.ranked,
            reference=query.reference or aside.reference,
        )


def read_query(row: Mapping[str, Any], info: Mapping[str, Any], multimodal: str) -> QueryRow:
    """The query of a row and its ``extra_info``. InputError names the field that is wrong.

    Its id is ``extra_info.query_id``, or data source and index, or the prompt's hash. An
    index is only unique within a file, so the prompt's hash goes with it.
    """
    if row.get("raw_prompt") is None:
        said = "missing; set data.return_raw_chat=True"
        raise InputError(said, "raw_prompt", code="missing_field")
    prompt = parse_prompt(row["raw_prompt"], "raw_prompt", multimodal)
    query = parse_query(info, query=prompt, where="extra_info.", closed=False)
    index = info.get("index", row.get("index"))
    if index is None or parse_query_id(info.get("query_id")) is not None:
        return query
    source = row.get("data_source")
    source = "data" if source is None else source
    return replace(query, query_id=f"{source}/{index}/{query_hash(prompt)[:8]}")
