"""Turns the arguments of a TRL reward function into rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._encode import eligible
from ..rows import parse_prompt, parse_query

COLUMNS = ("query_id", "rubrics", "ranked", "reference", "eligible", "split")
"""The columns of the dataset that are read, beside the prompt."""


def rows_of(
    prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """One row for each completion, of plain values that any process can read.

    InputError names the row and the column, such as ``rows[1].rubrics[0].weight``.
    """
    out = []
    for i, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        given = {name: columns[name][i] for name in COLUMNS if columns.get(name) is not None}
        where = f"rows[{i}]."
        query = parse_prompt(prompt, where + "prompt", "text")
        row = parse_query(given, query=query, where=where, closed=False)
        out.append(
            {
                "query_id": row.query_id,
                "query": row.query,
                "rubrics": row.rubrics,
                "ranked": row.texts(),
                "reference": row.reference,
                "response": response_of(completion),
                "eligible": eligible(given.get("eligible"), where + "eligible"),
                "split": str(given.get("split") or "train"),
            }
        )
    return out


def response_of(completion: Any) -> str:
    """The text of a completion: of a conversation, the last message of the assistant."""
    if isinstance(completion, str):
        return completion
    written = [m for m in completion if m.get("role") == "assistant"]
    content = written[-1].get("content") if written else ""
    if isinstance(content, str) or content is None:
        return content or ""
    parts = [p.get("text") or "" for p in content if p.get("type", "text") == "text"]
    return "\n".join(parts)
