"""What the policy was asked, as the library takes it, and the name of a query without one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ..errors import InputError
from ..types import Query
from .fields import absent, items

Prompt = str | list[dict[str, Any]]


def parse_prompt(raw: Any, where: str = "query", multimodal: str = "refuse") -> Prompt:
    """A query as the library takes it: the same for JSON, parquet and Python objects.

    ``raw``
        A string, or chat messages as trainers have them. Of a message, the role,
        the text and the tool calls stay: parts of its content are joined by line
        breaks, and other keys are left out. A single user message becomes its text.
    ``where``
        The name of the field in errors.
    ``multimodal``
        ``"text"`` puts ``[image]`` in the place of an image (``[video]``, ...).
        ``"refuse"`` raises an InputError for one.
    """
    if isinstance(raw, str):
        if not raw.strip():
            raise InputError("holds no text for the judge to read", where)
        return raw
    if isinstance(raw, Mapping) or not hasattr(raw, "__iter__"):
        kind = type(raw).__name__
        raise InputError(f"must be a string or a list of chat messages, got {kind}", where)
    messages, any_text = [], False
    for i, message in enumerate(raw):
        read, has_text = _message(message, f"{where}[{i}]", multimodal)
        messages.append(read)
        any_text = any_text or has_text
    if not any_text:
        raise InputError("holds no text for the judge to read", where)
    lone = messages[0]
    if len(messages) == 1 and lone["role"] == "user" and "tool_calls" not in lone:
        return str(lone["content"])
    return messages


def query_id_of(query: Query) -> str:
    """The name of a query that has none: the hash of its content."""
    return f"query-{query_hash(query)}"


def query_hash(query: Query) -> str:
    """24 hexadecimal digits."""
    text = json.dumps(query, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]


def _message(message: Any, where: str, multimodal: str) -> tuple[dict[str, Any], bool]:
    """A message, and whether it says anything."""
    if not isinstance(message, Mapping) or "role" not in message:
        raise InputError("must be a chat message with role and content", where)
    content, has_text = _content(message.get("content"), where, multimodal)
    read: dict[str, Any] = {"role": str(message["role"]), "content": content}
    if calls := _plain(message.get("tool_calls")):
        read["tool_calls"] = calls
    return read, has_text or bool(calls)


def _content(content: Any, where: str, multimodal: str) -> tuple[str, bool]:
    """The text of a message, and whether there is any beside the names of other parts."""
    lines, has_text = [], False
    if absent(content) or isinstance(content, str):
        content = [content if isinstance(content, str) else ""]
    for i, part in enumerate(items(content, f"{where}.content")):
        if not isinstance(part, (str, Mapping)):
            said = f"must be a string or a part with a type, got {type(part).__name__}"
            raise InputError(said, f"{where}.content[{i}]")
        kind = str((isinstance(part, Mapping) and part.get("type")) or "text")
        if kind in ("text", "input_text"):
            text = part if isinstance(part, str) else str(part.get("text") or "")
            has_text = has_text or bool(text.strip())
            lines.append(text)
        elif multimodal == "refuse":
            raise InputError(
                f"has a part of type {kind!r}, which the judge cannot see; in verl, "
                "reward.rankbuffer.rendezvous.multimodal=text shows it the text parts alone",
                where,
            )
        else:
            lines.append(f"[{kind.removeprefix('input_').removesuffix('_url')}]")
    return "\n".join(lines), has_text


def _plain(value: Any) -> Any:
    """Lists and dictionaries as JSON has them, without the nulls with which tables fill rows."""
    if isinstance(value, Mapping):
        return {str(k): _plain(item) for k, item in value.items() if item is not None}
    if hasattr(value, "__iter__") and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value  # numpy's numbers
