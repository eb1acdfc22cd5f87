"""Groups that an earlier life of an owner had scored: their results are in its journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from ...types import GroupResult
from ..rollouts.rows import Key, Rollout
from ..verdict import Verdict, verdicts
from .group import EndedGroup, Member

_LABEL_BYTES = 512


def label(rollout: Rollout) -> str | None:
    """What the journal calls the rollout's group. None if nothing names it."""
    if not rollout.has_uid:
        return None  # later groups of the prompt have the same key
    name = json.dumps(rollout.key)
    return name if len(name) <= _LABEL_BYTES else None


@dataclass(frozen=True)
class AnsweredGroup(EndedGroup):
    """Of its responses the journal has digests, and not the slots."""

    def answer(self, rollout: Rollout) -> Verdict:
        # Text that the scorer refused is in the group as an empty response.
        for text in (rollout.text, ""):
            digest = _digest(text)
            for member in self.members:
                if member.digest == digest:
                    return self.of(member)
        return self.of(Member.of(rollout))


def answered(found: Iterable[Mapping[str, Any]]) -> dict[Key, EndedGroup]:
    """From what ``Scorer.restore_from`` found, the oldest first."""
    groups: dict[Key, EndedGroup] = {}
    for group in found:
        uid, step = json.loads(group["result_key"])
        members = [Member(None, digest, i) for i, digest in enumerate(group["responses"])]
        result = GroupResult.from_json(group["result"])
        groups[uid, step] = AnsweredGroup(members, verdicts(result, 0.0))
    return groups


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:24]
