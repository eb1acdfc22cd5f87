"""Rewards for a batch of rows, in anyone's loop."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
import world
from trl_rows import conversation

import rankbuffer as rb
from rankbuffer.loop import query_id_of, run, score_batch, score_rows
from rankbuffer.trl import AsyncRewardFunction, RewardFunction
from rankbuffer.trl.rows import response_of, rows_of
from rankbuffer.verl.rollouts.queries import query_id


def rows(query: str, *texts: str, **columns: Any) -> list[dict[str, Any]]:
    return [{"query": query, "response": t, "ranked": world.RANKED, **columns} for t in texts]


def expected(query_id: str, query: str, texts: list[str]) -> list[float]:
    with world.world_scorer() as scorer:
        return scorer.score_group(query_id, texts, query=query, ranked=world.RANKED).rewards


def test_rows_in_any_order_get_their_groups_rewards(scorer: rb.Scorer) -> None:
    a, b = ["t90", "t50", "t10"], ["t5", "t95", "t45"]
    mixed = [r for pair in zip(rows("A", *a), rows("B", *b), strict=True) for r in pair]
    rewards = score_batch(scorer, mixed, step=1)
    assert rewards[::2] == expected("a", "A", a)
    assert rewards[1::2] == expected("b", "B", b)


def test_without_an_id_a_query_is_named_after_its_content(scorer: rb.Scorer) -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "A"}]
    score_batch(scorer, rows("A", "t90", "t10") + [{"query": chat, "response": "t5"}] * 2)
    names = [query_id_of("A"), query_id_of(chat)]
    assert [scorer.buffer(name).query for name in names] == ["A", chat]
    assert rows_of(["A"], ["t1"], {})[0]["query_id"] == query_id({}, {}, "A") == names[0]


def test_runs_of_group_size_are_groups_of_their_own(scorer: rb.Scorer) -> None:
    texts = ["t90", "t50", "t30", "t95", "t45", "t5"]
    rewards = score_batch(scorer, rows("A", *texts, query_id="a"), group_size=3)
    assert rewards[:3] == [1, 0, -1]
    assert rewards[3:] == [1, 0, -1]
    assert scorer.buffer("a").epochs_seen == [0, 1]


def test_validation_changes_nothing(scorer: rb.Scorer) -> None:
    score_batch(scorer, rows("A", "t90", "t10", query_id="a"))
    before = scorer.buffer("a")
    rewards = score_batch(scorer, rows("A", "t99", "t0", query_id="a"), validate=True)
    assert rewards == [1, -1]
    assert scorer.buffer("a") == before


def test_a_query_with_other_content_is_rewarded_0(
    scorer: rb.Scorer, caplog: pytest.LogCaptureFixture
) -> None:
    score_batch(scorer, rows("A", "t90", "t10", query_id="a"))
    assert score_batch(scorer, rows("B", "t90", "t10", query_id="a")) == [0, 0]
    assert "query" in caplog.text


def test_eligible_is_true_unless_a_row_says_otherwise(scorer: rb.Scorer) -> None:
    texts = ["t90", "t50", "t10"]
    given = rows("A", *texts, query_id="a")
    for row, flag in zip(given, (None, np.bool_(True), 0), strict=True):
        row["eligible"] = flag
    (result,) = run(score_rows(scorer, given)).results
    assert result.status == ["ok", "ok", "ineligible"]
    columns = {"eligible": [None, 1, np.False_]}
    assert [r["eligible"] for r in rows_of(["A"] * 3, texts, columns)] == [True, True, False]


@pytest.mark.parametrize("flag", ["false", 2, [], float("nan"), np.array([1, 0])])
def test_another_eligible_is_named(flag: Any) -> None:
    with pytest.raises(rb.InputError, match=r"rows\[0\]\.eligible"):
        rows_of(["A"], ["t1"], {"eligible": [flag]})


def test_a_judge_that_is_gone_is_told(caplog: pytest.LogCaptureFixture) -> None:
    gone = rb.Judge(base_url="http://127.0.0.1:9/v1", model="m", max_retries=0)
    with rb.Scorer(judge=gone) as scorer:
        assert score_batch(scorer, rows("A", "t90", "t10") + rows("B", "t5", "t1")) == [0.0] * 4
    assert "2 of 2 groups failed: cannot reach http://127.0.0.1:9/v1" in caplog.text


def test_trl_groups_of_another_size_are_refused() -> None:
    reward = RewardFunction(world.plan().settings.scorer, group_size=4)
    reward.fits(4)
    with pytest.raises(rb.ConfigError, match="set group_size=8"):
        reward.fits(8)


def test_rejected_groups_are_counted(scorer: rb.Scorer) -> None:
    good, bad = rows("A", "t90", "t10"), rows("B", "t90", "t10", eligible="yes")
    batch = run(score_rows(scorer, good + bad))
    assert (batch.rewards, batch.rejected, len(batch.results)) == ([1, -1, 0, 0], 1, 1)
    with pytest.raises(rb.InputError, match="eligible"):
        score_batch(scorer, bad)
    logged: dict[str, float] = {}
    RewardFunction(scorer, group_size=2)(
        prompts=["A", "A", "B", "B"],
        completions=["t90", "t10"] * 2,
        log_metric=logged.__setitem__,
        ranked=[world.RANKED] * 2 + [["t80", "t80"]] * 2,
    )
    assert logged["rankbuffer/failed_groups"] == 1


@pytest.mark.parametrize(
    "other", [{"query": "B"}, {"rubrics": ["Short"]}, {"ranked": ["t1"]}, {"reference": "t9"}]
)
def test_rows_of_a_group_agree_on_its_query(
    scorer: rb.Scorer, caplog: pytest.LogCaptureFixture, other: dict[str, Any]
) -> None:
    given = rows("A", "t90", "t10", query_id="a") + rows("C", "t90", "t10")
    given[1].update(other)
    batch = run(score_rows(scorer, given))
    assert (batch.rewards, batch.rejected) == ([0, 0, 1, -1], 1)
    assert f"rows[1].{next(iter(other))}" in caplog.text


def test_a_rest_of_a_group_changes_nothing(scorer: rb.Scorer) -> None:
    texts = ["t90", "t50", "t30", "t95", "t5"]
    rewards = score_batch(scorer, rows("A", *texts, query_id="a"), group_size=3)
    assert rewards == [1, 0, -1, 1, -1]
    assert scorer.buffer("a").epochs_seen == [0]


def test_a_missing_field_is_named(scorer: rb.Scorer) -> None:
    with pytest.raises(rb.InputError, match=r"rows\[0\]\.response: missing"):
        score_batch(scorer, [{"query": "x"}])


def test_where_an_event_loop_runs(scorer: rb.Scorer) -> None:
    async def notebook() -> list[float]:
        return score_batch(scorer, rows("A", "t90", "t10"))

    assert asyncio.run(notebook()) == [1, -1]
    assert run(score_rows(scorer, rows("A", "t95", "t5"))).results[0].group_status == "ok"


COLUMNS: dict[str, Any] = {"query_id": ["a"] * 3, "ranked": [world.RANKED] * 3}


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
