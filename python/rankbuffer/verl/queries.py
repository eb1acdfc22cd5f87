"""What a rollout answers: the query's id, prompt, rubrics and ranked responses, from a verl row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError
from ..jsonl import read_jsonl

Prompt = str | list[dict[str, str]]


@dataclass(frozen=True, kw_only=True)
class QueryData:
    """One query. ``rubrics`` and ``ranked`` (best first) are empty when not given."""

    query_id: str
    prompt: Prompt
    rubrics: list[dict[str, Any]] = field(default_factory=list)
    ranked: list[str] = field(default_factory=list)
    reference: str | None = None


class SideFile:
    """Rubrics, ranked responses and references by query id, kept out of the rollout rows."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._rows: dict[str, dict[str, Any]] = {}
        for line, _, row in read_jsonl(path):
            query_id = row.get("query_id")
            if not isinstance(query_id, str) or not query_id:
                raise InputError(f"{path}:{line}: query_id: must be a string")
            self._rows[query_id] = row

    def fill(self, query: QueryData) -> QueryData:
        """The query with what the row left out."""
        row = self._rows.get(query.query_id)
        if row is None:
            return query
        return QueryData(
            query_id=query.query_id,
            prompt=query.prompt,
            rubrics=query.rubrics or rubrics(row.get("rubrics")),
            ranked=query.ranked or texts(row.get("ranked"), "ranked"),
            reference=query.reference if query.reference is not None else row.get("reference"),
        )


def query_data(row: Mapping[str, Any], info: Mapping[str, Any], multimodal: str) -> QueryData:
    """From a row's columns and its ``extra_info``. InputError says what is wrong."""
    prompt = prompt_of(row.get("raw_prompt"), multimodal)
    reference = info.get("reference")
    if reference is not None and not isinstance(reference, str):
        raise InputError("extra_info.reference: must be a string")
    return QueryData(
        query_id=query_id(row, info, prompt),
        prompt=prompt,
        rubrics=rubrics(info.get("rubrics")),
        ranked=texts(info.get("ranked"), "ranked"),
        reference=reference or None,
    )


def query_id(row: Mapping[str, Any], info: Mapping[str, Any], prompt: Prompt) -> str:
    """``extra_info.query_id``, else data source and index, else the prompt's hash.

    An index is only unique within a file, so the prompt's hash goes with it.
    """
    given = info.get("query_id")
    if given is not None and str(given):
        return str(given)
    digest = hashlib.sha256(json.dumps(prompt, ensure_ascii=False).encode("utf-8", "replace"))
    index = info.get("index", row.get("index"))
    if index is None:
        return f"prompt-{digest.hexdigest()[:24]}"
    source = row.get("data_source")
    return f"{source if source is not None else 'data'}/{index}/{digest.hexdigest()[:8]}"


def prompt_of(raw: Any, multimodal: str) -> Prompt:
    """Chat messages as the judge sees them: a lone user message is just its text."""
    if raw is None:
        raise InputError("raw_prompt: missing; set data.return_raw_chat=True")
    if isinstance(raw, str):
        return raw
    messages = [_message(m, i, multimodal) for i, m in enumerate(raw)]
    if not any(m["content"].strip() for m in messages):
        raise InputError("raw_prompt: holds no text for the judge to read")
    if len(messages) == 1 and messages[0]["role"] == "user":
        return messages[0]["content"]
    return messages


def _message(message: Any, i: int, multimodal: str) -> dict[str, str]:
    if not isinstance(message, Mapping) or "role" not in message:
        raise InputError(f"raw_prompt[{i}]: must be a chat message with role and content")
    content = message.get("content")
    if content is None:
        content = ""
    if not isinstance(content, str):
        content = _parts(content, i, multimodal)
    return {"role": str(message["role"]), "content": content}


def _parts(parts: Any, i: int, multimodal: str) -> str:
    """The text of a multimodal message, with a word in the place of what has none."""
    out, has_text = [], False
    for part in parts:
        kind = part.get("type", "text") if isinstance(part, Mapping) else "text"
        if kind == "text":
            text = part if isinstance(part, str) else str(part.get("text") or "")
            has_text = has_text or bool(text.strip())
            out.append(text)
        elif multimodal == "refuse":
            raise InputError(
                f"raw_prompt[{i}]: has a part of type {kind!r}, which the judge cannot see; "
                "reward.rankbuffer.rendezvous.multimodal=text shows it the text parts alone"
            )
        else:
            out.append(f"[{kind}]")
    return "\n".join(out) if has_text else ""


def rubrics(given: Any) -> list[dict[str, Any]]:
    """A list of ``{"text", "weight"}``, as it comes out of parquet or as JSON text."""
    out = []
    for i, value in enumerate(_list(given, "rubrics")):
        if isinstance(value, str):
            value = {"text": value}
        if not isinstance(value, Mapping) or not isinstance(value.get("text"), str):
            raise InputError(f'extra_info.rubrics[{i}]: must be {{"text", "weight"}}')
        weight = value.get("weight")
        out.append({"text": value["text"], "weight": 1.0 if weight is None else float(weight)})
    return out


def texts(given: Any, name: str) -> list[str]:
    """A list of texts, as it comes out of parquet or as JSON text."""
    out = []
    for i, value in enumerate(_list(given, name)):
        if isinstance(value, Mapping):
            value = value.get("text")
        if not isinstance(value, str):
            raise InputError(f"extra_info.{name}[{i}]: must be a string")
        out.append(value)
    return out


def _list(given: Any, name: str) -> Sequence[Any]:
    if given is None:
        return []
    if isinstance(given, str):
        if not given.strip():
            return []
        try:
            given = json.loads(given)
        except ValueError as error:
            raise InputError(f"extra_info.{name}: not JSON: {error}") from None
    if isinstance(given, Mapping) or not hasattr(given, "__iter__"):
        raise InputError(f"extra_info.{name}: must be a list")
    return list(given)
