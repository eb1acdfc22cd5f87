"""A trainer's prompt as the judge sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import InputError

Prompt = str | list[dict[str, str]]


def parse_prompt(raw: Any, where: str = "query", multimodal: str = "refuse") -> Prompt:
    """A query as the judge sees it: a string, or messages of ``{"role", "content"}``.

    ``raw``
        A string, or chat messages as trainers have them: other keys than role and
        content are left out, content in parts is joined, and a single user
        message becomes its text.
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
    messages = [_message(m, f"{where}[{i}]", multimodal) for i, m in enumerate(raw)]
    if not any(m["content"].strip() for m in messages):
        raise InputError("holds no text for the judge to read", where)
    if len(messages) == 1 and messages[0]["role"] == "user":
        return messages[0]["content"]
    return messages


def prompt_of(raw: Any, multimodal: str) -> Prompt:
    """The prompt of one of verl's rows."""
    if raw is None:
        raise InputError(
            "missing; set data.return_raw_chat=True", "raw_prompt", code="missing_field"
        )
    return parse_prompt(raw, "raw_prompt", multimodal)


def _message(message: Any, where: str, multimodal: str) -> dict[str, str]:
    if not isinstance(message, Mapping) or "role" not in message:
        raise InputError("must be a chat message with role and content", where)
    content = message.get("content")
    if content is None:
        content = ""
    if not isinstance(content, str):
        content = _parts(content, where, multimodal)
    return {"role": str(message["role"]), "content": content}


def _parts(parts: Any, where: str, multimodal: str) -> str:
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
                f"has a part of type {kind!r}, which the judge cannot see; in verl, "
                "reward.rankbuffer.rendezvous.multimodal=text shows it the text parts alone",
                where,
            )
        else:
            out.append(f"[{kind}]")
    return "\n".join(out) if has_text else ""
