"""What a rollout answers: the query's id, prompt, rubrics and ranked responses, from a verl row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import InputError
from ..jsonl import read_jsonl, surrogate
from ..loop import query_hash, query_id_of
from .content import PLACE, ContentCheck, reference
from .content import rubrics as rubrics
from .content import texts as texts

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
    """Rubrics, ranked responses and references by query id, kept out of the rollout rows.

    One file or several, such as those of training and validation data. All rows are
    checked here: InputError names file, line and field.
    """

    def __init__(self, paths: str | Sequence[str]) -> None:
        self._rows: dict[str, QueryData] = {}
        lines: dict[str, str] = {}
        with ContentCheck() as check:
            for path in [paths] if isinstance(paths, str) else paths:
                for line, body, row in read_jsonl(path):
                    try:
                        entry = _entry(body, row, check)
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


def _entry(body: bytes, row: Mapping[str, Any], check: ContentCheck) -> QueryData:
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
    check.check("any", entry.rubrics, entry.ranked)
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
