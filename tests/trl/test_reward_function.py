"""The reward functions of TRL, called as TRL calls them."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from known_world import NUMBERED_RANKED, numbered_config

import rankbuffer as rb
from rankbuffer.loop import query_id_of
from rankbuffer.trl import AsyncRewardFunction, RewardFunction
from rankbuffer.trl.rows import response_of, rows_of
from rankbuffer.verl.rollouts.queries import read_query

COLUMNS: dict[str, Any] = {"query_id": ["a"] * 3, "ranked": [NUMBERED_RANKED] * 3}


def conversation(texts: list[str]) -> list[list[dict[str, str]]]:
    """Completions of conversational data. The policy did not write the tool's message."""
    tool = {"role": "tool", "content": "99"}
    return [[tool, {"role": "assistant", "content": text}] for text in texts]


def test_a_query_is_named_as_elsewhere() -> None:
    in_verl = read_query({"raw_prompt": "A"}, {}, "text").query_id
    assert rows_of(["A"], ["t1"], {})[0]["query_id"] == in_verl == query_id_of("A")


def test_eligible_is_true_unless_a_row_says_otherwise() -> None:
    columns = {"eligible": [None, 1, np.False_]}
    rows = rows_of(["A"] * 3, ["t90", "t50", "t10"], columns)
    assert [row["eligible"] for row in rows] == [True, True, False]


def test_rejected_groups_are_counted(scorer: rb.Scorer) -> None:
    logged: dict[str, float] = {}
    RewardFunction(scorer, group_size=2)(
        prompts=["A", "A", "B", "B"],
        completions=["t90", "t10"] * 2,
        log_metric=logged.__setitem__,
        ranked=[NUMBERED_RANKED] * 2 + [["t80", "t80"]] * 2,
    )
    assert logged["rankbuffer/failed_groups"] == 1


def test_trl_groups_of_another_size_are_refused() -> None:
    reward = RewardFunction(numbered_config(), group_size=4)
    reward.check_group_size(4)
    with pytest.raises(rb.ConfigError, match="set group_size=8"):
        reward.check_group_size(8)


def test_trl_calls_it_so(scorer: rb.Scorer) -> None:
    class State:
        global_step = 4

    logged: dict[str, float] = {}
    texts = ["t90", "t50", "t10"]
    reward = RewardFunction(scorer, group_size=3)
    got = reward(
        prompts=["A"] * 3,
        completions=texts,
        completion_ids=[[1]] * 3,
        trainer_state=State(),
        log_metric=logged.__setitem__,
        log_extra=None,
        **COLUMNS,
    )
    assert got == [1, 0, -1]
    assert logged["rankbuffer/judge_calls"] == 3
    assert scorer.buffer("a").anchors[-1].step == 4

    again = AsyncRewardFunction(scorer, group_size=3)
    got = asyncio.run(again(prompts=["A"] * 3, completions=conversation(texts), **COLUMNS))
    assert got == [1, 0, -1]
    got = reward(prompts=["A"] * 3, completions=texts, split=["test"] * 3, **COLUMNS)
    assert len(scorer.buffer("a").epochs_seen) == 2
    assert got[0] > got[2]


def test_an_error_is_raised_in_the_process_it_comes_from(scorer: rb.Scorer) -> None:
    scorer.close()
    with pytest.raises(rb.ClosedError):
        RewardFunction(scorer, group_size=2)(prompts=["A"] * 2, completions=["t1", "t2"])


def test_rows_of_conversations() -> None:
    prompt = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    (row,) = rows_of([prompt], [conversation(["t1"])[0]], {})
    assert (row["query"], row["response"], row["split"]) == ("Hi", "t1", "train")
    assert response_of([{"role": "tool", "content": "x"}]) == ""
    assert response_of([{"role": "assistant", "content": [{"type": "text", "text": "y"}]}]) == "y"


@pytest.mark.parametrize("flag", ["false", 2, [], float("nan"), np.array([1, 0])])
def test_another_eligible_is_named(flag: Any) -> None:
    with pytest.raises(rb.InputError, match=r"rows\[0\]\.eligible"):
        rows_of(["A"], ["t1"], {"eligible": [flag]})
