"""A trainer's prompt as the judge sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import InputError

Prompt = str | list[dict[str, str]]


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
