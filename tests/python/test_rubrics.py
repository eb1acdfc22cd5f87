"""Rubrics written by the judge."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from known_world import World

import rankbuffer as rb

Build = Callable[..., rb.Scorer]


def test_rubrics_come_back_usable(world: World, build: Build) -> None:
    ranked = world.ranked("q")
    scorer = build()
    rubrics = scorer.write_rubrics("q", query="What is good?", ranked=ranked)
    assert 3 <= len(rubrics) <= 5
    assert all(r.text and r.weight in (1, 2, 3, 4, 5) for r in rubrics)
    assert scorer.stats()["queries"] == 0  # nothing was changed
    scorer.create_buffer("q", query="What is good?", rubrics=rubrics, ranked=ranked)
    assert scorer.buffer("q").rubrics == rubrics


def test_weight_by_name_or_by_place() -> None:
    assert rb.Rubric("clear", 2) == rb.Rubric("clear", weight=2)
    assert rb.Rubric("clear").weight == 1


def test_rubrics_need_ranked_responses(build: Build) -> None:
    with pytest.raises(rb.InputError, match="ranked"):
        build().write_rubrics("q", query="?", ranked=[])


def test_failing_judge(world: World, build: Build) -> None:
    scorer = build(failure_rate=1.0, max_retries=0)
    with pytest.raises(rb.JudgeError):
        scorer.write_rubrics("q", query="?", ranked=world.ranked("q"))
