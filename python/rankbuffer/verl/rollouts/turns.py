"""Turns a rollout's tokens into the text that is judged: its last turn, without tool calls."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import Any, Literal

log = logging.getLogger(__name__)

_SINGLE_TURN = 2  # verl counts the user's turn and the assistant's


class TurnReader:
    """Decodes with the policy's tokenizer, which takes milliseconds and blocks.

    The tags of reasoning and of tool calls may be special tokens of the tokenizer. They
    are kept, so that reasoning and calls can be found, and other special tokens are left
    out. The reasoning stays in the text, because the scorer cuts it out.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        reasoning: tuple[str, str] | None,
        tool_call: tuple[str, str],
        turns: Literal["last", "all"],
    ) -> None:
        self._tokenizer = tokenizer
        self._reasoning: tuple[str, ...] = reasoning or ()
        self._tool_call = tool_call
        self._last_only = turns == "last"
        self._special = _special_tokens(tokenizer)
        self._header = self._assistant_header()
        self._warned = False

    def text(self, ids: list[int], turns: int, prompt: list[int]) -> str:
        """The text of a response's tokens. The ``prompt`` tokens may end by opening reasoning."""
        start = 0
        if turns > _SINGLE_TURN and self._last_only:
            start = self._last_turn(ids)
            text = self._decode(ids[start:], (*self._reasoning, *self._tool_call))
            text = without_tool_calls(text, self._tool_call)
        else:
            text = self._decode(ids, self._reasoning)
        if start == 0 and self._opens_reasoning(prompt):
            text = self._reasoning[0] + text
        return text

    def _decode(self, ids: list[int], tags: tuple[str, ...]) -> str:
        """The text, with no special tokens but those that make up one of the tags."""
        if not ids:
            return ""
        kept = {i: token for i, token in self._special.items() if any(token in t for t in tags)}
        if not kept:
            return str(self._tokenizer.decode(ids, skip_special_tokens=True))
        ids = [i for i in ids if i in kept or i not in self._special]
        text = str(self._tokenizer.decode(ids, skip_special_tokens=False))
        return _only_whole(text, tags, kept.values())

    def _opens_reasoning(self, prompt: list[int]) -> bool:
        """Whether the prompt's end opens the reasoning, so that the response only closes it."""
        if not self._reasoning or not prompt:
            return False
        end = str(self._tokenizer.decode(prompt[-16:], skip_special_tokens=False))
        return end.rstrip().endswith(self._reasoning[0])

    def _last_turn(self, ids: list[int]) -> int:
        """Where the last turn begins: after the last header of an assistant turn."""
        header = self._header
        n = len(header)
        for start in range(len(ids) - n, -1, -1):
            if n and ids[start : start + n] == header:
                return start + n
        if not self._warned:
            self._warned = True
            log.warning(
                "rankbuffer: a rollout holds no header of an assistant turn as its chat template "
                "writes it, so all of its turns are judged; this is logged once"
            )
        return 0

    def _assistant_header(self) -> list[int]:
        """What the chat template writes before each assistant turn, without a reasoning tag.

        Whether the template opens reasoning can depend on arguments that rows do not have.
        """
        text = _generation_prompt(self._tokenizer)
        if self._reasoning:
            text = text.partition(self._reasoning[0])[0]
        if not text:
            return []
        return [int(i) for i in self._tokenizer.encode(text, add_special_tokens=False)]


def without_tool_calls(text: str, tags: tuple[str, str]) -> str:
    """The text without tool calls. A call that is not closed reaches to the end."""
    opening, closing = tags
    while (start := text.find(opening)) >= 0:
        end = text.find(closing, start + len(opening))
        text = text[:start] + (text[end + len(closing) :] if end >= 0 else "")
    return text


def _only_whole(text: str, tags: tuple[str, ...], tokens: Iterable[str]) -> str:
    """Removes special tokens that stand alone but are only kept as parts of a tag."""
    longest_first = sorted({*tags, *tokens}, key=len, reverse=True)
    pattern = "|".join(re.escape(word) for word in longest_first)
    return re.sub(pattern, lambda found: found[0] if found[0] in tags else "", text)


def _special_tokens(tokenizer: Any) -> dict[int, str]:
    """The special tokens by id: decoding with ``skip_special_tokens`` leaves them out."""
    added = getattr(tokenizer, "added_tokens_decoder", None) or {}
    found = {int(i): str(t.content) for i, t in added.items() if t.special and t.content}
    for i in getattr(tokenizer, "all_special_ids", None) or ():
        if i not in found:
            found[int(i)] = str(tokenizer.decode([i], skip_special_tokens=False))
    return {i: token for i, token in found.items() if token}


def _generation_prompt(tokenizer: Any) -> str:
    """What the chat template writes at the end of a prompt; "" if that is unknown."""
    messages = [{"role": "user", "content": "x"}]
    try:
        whole, bare = (
            str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=add))
            for add in (True, False)
        )
    except Exception:  # no template, or one that wants more than a user message
        return ""
    return whole[len(bare) :] if whole.startswith(bare) else ""
