"""TRL's arguments as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._content import rubrics, texts
from .._encode import eligible
from .._messages import prompt_of
from ..loop import query_id_of
from ..types import Query


def rows_of(
    prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """One row for each completion, with plain values that any process can read."""
    out = []
    for i, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        given = {
            name: columns[name][i]
            for name in ("query_id", "rubrics", "ranked", "reference", "eligible", "split")
            if columns.get(name) is not None
        }
        query: Query = prompt_of(prompt, "text")
        out.append(
            {
                "query_id": str(given.get("query_id") or query_id_of(query)),
                "query": query,
                "response": response_of(completion),
                "rubrics": rubrics(given.get("rubrics")),
                "ranked": texts(given.get("ranked"), "ranked"),
                "reference": given.get("reference") or None,
                "eligible": eligible(given.get("eligible"), f"eligible[{i}]"),
                "split": str(given.get("split") or "train"),
            }
        )
    return out


def response_of(completion: Any) -> str:
    """A completion's text: its last assistant message, for a conversation."""
    if isinstance(completion, str):
        return completion
    spoken = [m for m in completion if m.get("role") == "assistant"]
    content = spoken[-1].get("content") if spoken else ""
    if isinstance(content, str) or content is None:
        return content or ""
    parts = [p.get("text") or "" for p in content if p.get("type", "text") == "text"]
    return "\n".join(parts)
