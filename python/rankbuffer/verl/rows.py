"""One row of verl's reward loop as a rollout: whose it is, and the text that the judge sees."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .._encode import eligible
from ..errors import InputError
from .queries import QueryData, query_data
from .settings import Settings

log = logging.getLogger(__name__)

_SINGLE_TURN = 2  # verl counts the user's turn and the assistant's


Key = tuple[str, int | None]
"""A uid and the step that asked for it: a prompt that is issued again has a new step."""


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """One trajectory. ``slot`` names it within its group where the row does.

    ``failure`` is the status of one that cannot be scored; its siblings still can.
    """

    uid: str
    has_uid: bool
    slot: str | None
    step: int | None
    validate: bool
    eligible: bool
    query: QueryData
    text: str
    failure: str | None = None

    def with_query(self, query: QueryData) -> Rollout:
        return replace(self, query=query)

    @property
    def key(self) -> Key:
        """Names its group."""
        return (self.uid, self.step)

    @property
    def digest(self) -> str:
        """Tells equal responses of a group apart from others."""
        text = f"{self.failure or 'ok'}:{self.text}"
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]


class RowReader:
    """Reads rows with the policy's tokenizer. Blocking: decoding takes milliseconds."""

    def __init__(self, tokenizer: Any, settings: Settings) -> None:
        self._tokenizer = tokenizer
        self._settings = settings
        self._turn = _generation_prompt(tokenizer)
        self._turn_ids = _encode(tokenizer, self._turn) if self._turn else []
        reasoning = settings.scorer.reasoning
        self._think = reasoning[0] if reasoning else None

    def read(self, data: Any) -> Rollout:
        """The last row of a DataProto. InputError for one whose group cannot be told."""
        item = data[-1:][0]  # a trajectory with several outputs is judged by its last
        row: Mapping[str, Any] = item.non_tensor_batch
        info = _mapping(row.get("extra_info"))
        query = query_data(row, info, self._settings.rendezvous.multimodal)
        uid = row.get("uid")
        rollout = Rollout(
            uid=str(uid) if uid is not None else _prompt_uid(query),
            has_uid=uid is not None,
            slot=_slot(row),
            step=_integer(row.get("global_steps")),
            validate=is_validation(info),
            eligible=True,
            query=query,
            text="",
        )
        try:
            takes_part = eligible(info.get("eligible"), "extra_info.eligible")
            return replace(rollout, eligible=takes_part, text=self._text(item, row))
        except InputError as error:
            log.error("rankbuffer: a row of query %.80r: %.500s", query.query_id, error)
            return replace(rollout, failure="rejected")
        except Exception:
            log.exception("rankbuffer: a row of query %.80r", query.query_id)
            return replace(rollout, failure="error")

    def _text(self, item: Any, row: Mapping[str, Any]) -> str:
        ids = _response_ids(item, row)
        turns = _integer(row.get("__num_turns__")) or _SINGLE_TURN
        opened = self._prompt_end(item, row)
        if turns > _SINGLE_TURN and self._settings.rendezvous.turns == "last":
            ids, found = self._last_turn(ids)
            text = _without_tool_calls(self._decode(ids), self._settings.rendezvous.tool_call)
            opened = self._turn if found else opened
        else:
            text = self._decode(ids)
        if self._think and opened.rstrip().endswith(self._think):
            # The chat template opened the reasoning, so that only its end is in the response.
            text = self._think + text
        return text

    def _decode(self, ids: list[int]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=True)) if ids else ""

    def _prompt_end(self, item: Any, row: Mapping[str, Any]) -> str:
        """The prompt's last words, which may open the reasoning block."""
        if not self._think:
            return ""
        prompts = item.batch["prompts"]
        n = _integer(row.get("prompt_len"))
        if n is None:  # padded: left by V0, right by V1's batch path
            width = prompts.shape[-1]
            mask = item.batch["attention_mask"][:width].bool()
            ids = prompts[mask].tolist()
        else:
            ids = prompts[:n].tolist()
        return str(self._tokenizer.decode(ids[-16:], skip_special_tokens=False))

    def _last_turn(self, ids: list[int]) -> tuple[list[int], bool]:
        """What the policy wrote in its last turn, behind the last header of an assistant turn."""
        header = self._turn_ids
        n = len(header)
        for start in range(len(ids) - n, -1, -1):
            if n and ids[start : start + n] == header:
                return ids[start + n :], True
        return ids, False


def is_validation(info: Mapping[str, Any]) -> bool:
    """By verl's convention ``extra_info`` has the split; a row without one is training data."""
    split = info.get("split")
    return split is not None and str(split) != "train"


def _response_ids(item: Any, row: Mapping[str, Any]) -> list[int]:
    responses = item.batch["responses"]
    n = _integer(row.get("response_len"))
    if n is None:
        width = responses.shape[-1]
        n = int(item.batch["attention_mask"][-width:].sum()) if width else 0
    ids: list[int] = responses[:n].tolist()
    return ids


def _slot(row: Mapping[str, Any]) -> str | None:
    """V1 numbers the sessions of a group, V0 the rows of a batch, the batch path nothing."""
    session = _integer(row.get("session_id"))
    if session is not None:
        return f"s{session}"
    priority = _integer(row.get("priority"))
    return f"p{priority}" if priority is not None and "__num_turns__" in row else None


def _prompt_uid(query: QueryData) -> str:
    key = json.dumps([query.query_id, query.prompt], ensure_ascii=False)
    return "prompt-" + hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:24]


def _generation_prompt(tokenizer: Any) -> str:
    """What the chat template puts before each assistant turn; "" if it cannot be told."""
    messages = [{"role": "user", "content": "x"}]
    try:
        whole, bare = (
            str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=add))
            for add in (True, False)
        )
    except Exception:  # no template, or one that wants more than a user message
        return ""
    return whole[len(bare) :] if whole.startswith(bare) else ""


def _encode(tokenizer: Any, text: str) -> list[int]:
    return [int(i) for i in tokenizer.encode(text, add_special_tokens=False)]


def _without_tool_calls(text: str, tags: tuple[str, str]) -> str:
    """A call is no answer; one that was not closed reaches to the end."""
    opening, closing = tags
    while (start := text.find(opening)) >= 0:
        end = text.find(closing, start)
        text = text[:start] + (text[end + len(closing) :] if end >= 0 else "")
    return text


def _mapping(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"extra_info: must be a mapping, got {type(value).__name__}")
    return value


def _integer(value: Any) -> int | None:
    if value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
