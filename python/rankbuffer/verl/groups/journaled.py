"""Groups whose results an owner finds in its journal after a restart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...types import GroupResult
from ..rollout_reward import RolloutReward, rollout_rewards
from ..rollouts.rows import Key, Rollout, text_digest
from .group import EndedGroup, Member

_KEY_BYTES = 512


def result_key(rollout: Rollout) -> str | None:
    """The key of the group's result in the journal, or None if the row does not name its group.

    Later groups of a prompt would have the same key.
    """
    key = json.dumps(rollout.key)
    return key if rollout.has_uid and len(key) <= _KEY_BYTES else None


@dataclass(frozen=True)
class JournaledGroup(EndedGroup):
    """A group of which the journal has the digests of the responses, but not their slots."""

    def reward_of(self, rollout: Rollout) -> RolloutReward:
        # A text that the scorer refused is an empty response in its group.
        for digest in (text_digest(rollout.text), text_digest("")):
            for member in self.members:
                if member.digest == digest:
                    return self.of(member)
        return self.of(Member.of(rollout))


def journaled_groups(results: Iterable[Mapping[str, Any]]) -> dict[Key, EndedGroup]:
    """The groups from the ``results`` of ``Scorer.restore_from``, oldest first."""
    groups: dict[Key, EndedGroup] = {}
    for entry in results:
        uid, step = json.loads(entry["result_key"])
        members = [Member(None, digest, i) for i, digest in enumerate(entry["responses"])]
        result = GroupResult.from_json(entry["result"])
        groups[uid, step] = JournaledGroup(members, rollout_rewards(result, 0.0))
    return groups
