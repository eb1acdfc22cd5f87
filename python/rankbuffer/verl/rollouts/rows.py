"""Reads one row of verl's reward loop as a rollout: its group, its query and its text."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ..._encode import eligible
from ...errors import InputError
from ...rows import QueryRow, query_hash
from ..config.settings import Settings
from .queries import read_query
from .turns import TurnReader

log = logging.getLogger(__name__)

Key = tuple[str, int | None]
"""A uid and the step that asked for it. A prompt that is issued again has a new step."""


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """One trajectory of verl.

    ``slot`` is its number within its group, where the row has one. ``failure`` is the
    status of a rollout that cannot be scored; the others of its group still can.
    """

    uid: str
    has_uid: bool
    slot: str | None
    step: int | None
    validate: bool
    eligible: bool
    query: QueryRow
    text: str
    failure: str | None = None

    @property
    def key(self) -> Key:
        """The key of its group."""
        return (self.uid, self.step)

    @property
    def digest(self) -> str:
        """Equal for rollouts of a group that have the same text."""
        return text_digest(f"{self.failure or 'ok'}:{self.text}")


def text_digest(text: str) -> str:
    """The digest by which the journal names a response."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]


class RowReader:
    """Reads rows with the policy's tokenizer. Decoding takes milliseconds and blocks."""

    def __init__(self, tokenizer: Any, settings: Settings) -> None:
        self._settings = settings.rendezvous
        self._turns = TurnReader(
            tokenizer,
            reasoning=settings.scorer.reasoning,
            tool_call=self._settings.tool_call,
            turns=self._settings.turns,
        )

    def read(self, data: Any) -> Rollout:
        """Reads the last row of a DataProto. InputError if its group cannot be determined."""
        item = data[-1:][0]  # a trajectory with several outputs is judged by its last
        row: Mapping[str, Any] = item.non_tensor_batch
        info = _mapping(row.get("extra_info"))
        query = read_query(row, info, self._settings.multimodal)
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
            text = self._text(item, row)
            return replace(rollout, eligible=takes_part, text=text)
        except InputError as error:
            log.error("rankbuffer: a row of query %.80r: %.500s", query.query_id, error)
            return replace(rollout, failure="rejected")
        except Exception:
            log.exception("rankbuffer: a row of query %.80r", query.query_id)
            return replace(rollout, failure="error")

    def _text(self, item: Any, row: Mapping[str, Any]) -> str:
        turns = _integer(row.get("__num_turns__")) or 0
        return self._turns.text(_response_ids(item, row), turns, _prompt_ids(item, row))


_SPLITS = {"train", "val", "valid", "validation", "dev", "eval", "test"}


def is_validation(info: Mapping[str, Any]) -> bool:
    """Whether a row is validation data: its split is not ``train``. Without one it is training."""
    split = info.get("split")
    if split is not None and str(split) not in _SPLITS:
        _warn_of_split(str(split)[:80])
    return split is not None and str(split) != "train"


@cache
def _warn_of_split(split: str) -> None:
    log.warning(
        "rankbuffer: extra_info.split is %r and not 'train', so these rows are validation data, "
        "which is scored and changes no buffer",
        split,
    )


def _response_ids(item: Any, row: Mapping[str, Any]) -> list[int]:
    responses = item.batch["responses"]
    n = _integer(row.get("response_len"))
    if n is None:
        width = responses.shape[-1]
        n = int(item.batch["attention_mask"][-width:].sum()) if width else 0
    ids: list[int] = responses[:n].tolist()
    return ids


def _prompt_ids(item: Any, row: Mapping[str, Any]) -> list[int]:
    prompts = item.batch["prompts"]
    n = _integer(row.get("prompt_len"))
    if n is not None:
        kept = prompts[:n]
    else:  # padded: left by V0, right by V1's batch path
        kept = prompts[item.batch["attention_mask"][: prompts.shape[-1]].bool()]
    ids: list[int] = kept.tolist()
    return ids


def _slot(row: Mapping[str, Any]) -> str | None:
    """V1 numbers the rollouts of a group and V0 the rows of a batch. The batch path has neither."""
    session = _integer(row.get("session_id"))
    if session is not None:
        return f"s{session}"
    priority = _integer(row.get("priority"))
    return f"p{priority}" if priority is not None and "__num_turns__" in row else None


def _prompt_uid(query: QueryRow) -> str:
    return f"prompt-{query.query_id}-{query_hash(query.query)}"


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
