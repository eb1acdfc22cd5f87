"""Rewards for a batch of rows, in anyone's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from known_world import NUMBERED_RANKED, numbered_scorer

import rankbuffer as rb
from rankbuffer.loop import query_id_of, run, score_batch, score_rows


@pytest.fixture
def scorer() -> Iterator[rb.Scorer]:
    with numbered_scorer() as made:
        yield made


def rows(query: str, *texts: str, **columns: Any) -> list[dict[str, Any]]:
    return [{"query": query, "response": t, "ranked": NUMBERED_RANKED, **columns} for t in texts]


def expected(query_id: str, query: str, texts: list[str]) -> list[float]:
    with numbered_scorer() as scorer:
        return scorer.score_group(query_id, texts, query=query, ranked=NUMBERED_RANKED).rewards


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


def test_a_judge_that_is_gone_is_told(caplog: pytest.LogCaptureFixture) -> None:
    gone = rb.Judge(base_url="http://127.0.0.1:9/v1", model="m", max_retries=0)
    with rb.Scorer(judge=gone) as scorer:
        assert score_batch(scorer, rows("A", "t90", "t10") + rows("B", "t5", "t1")) == [0.0] * 4
    assert "2 of 2 groups failed: judge.base_url: the judge cannot be reached" in caplog.text


def test_rejected_groups_are_counted(scorer: rb.Scorer) -> None:
    good, bad = rows("A", "t90", "t10"), rows("B", "t90", "t10", eligible="yes")
    batch = run(score_rows(scorer, good + bad))
    assert (batch.rewards, batch.rejected, len(batch.results)) == ([1, -1, 0, 0], 1, 1)
    with pytest.raises(rb.InputError, match="eligible"):
        score_batch(scorer, bad)


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
