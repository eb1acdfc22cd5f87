"""Scoring one group: what comes back, whatever the way it was asked for."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable
from typing import Any

import pytest
from known_world import MIXED, MIXED_RANKS, NEVER_MS, World, linear

import rankbuffer as rb

Build = Callable[..., rb.Scorer]


def test_rewards_follow_quality(world: World, query: Build) -> None:
    result = query().score_group("q", world.group("q", *MIXED), step=12, epoch=1)

    assert result.rewards == pytest.approx(linear(MIXED_RANKS))
    assert result.ranks == MIXED_RANKS
    assert result.status == ["ok"] * 8
    assert (result.group_status, result.error, result.method) == ("ok", "", "rankbuffer")
    assert (result.query_id, result.step, result.epoch) == ("q", 12, 1)
    assert result.group_id.startswith("q/12/")
    # K0 = 4 of 7: anchors at 0, 2, 4 and 6.
    assert result.positions == [2, 0, 4, 2, 3, 1, 2, 4]
    assert result.progress == [0.5, 0, 1, 0.5, 0.75, 0.25, 0.5, 1]
    # Both ends grow, and the interval that held three is refined.
    assert (result.anchors_before, result.anchors) == (4, 7)
    assert result.calls == {"coarse": 8, "fine": 2}
    assert set(result.tokens) == {"prompt", "completion", "cached"}
    assert result.tokens["prompt"] > 0
    assert sum(result.advantages) == pytest.approx(0, abs=1e-9)
    assert result.reward_std == pytest.approx(statistics.stdev(result.rewards))
    assert result.latency_ms >= 0
    assert result["rewards"] == result.raw["rewards"] == result.rewards


def test_asyncio_gives_the_same(world: World, query: Build) -> None:
    group = world.group("q", *MIXED)
    plain = query().score_group("q", group)
    awaited = asyncio.run(query().score_group_async("q", group))
    assert _timeless(awaited) == _timeless(plain)


def test_query_may_come_with_its_first_group(world: World, query: Build, build: Build) -> None:
    group = world.group("q", *MIXED)
    created = query(rb.RankBuffer(k0=3))
    inline = build(rb.RankBuffer(k0=3))
    expected = created.score_group("q", group)
    got = inline.score_group("q", group, query="What is good?", ranked=world.ranked("q"))
    assert _timeless(got) == _timeless(expected)
    assert inline.buffer("q") == created.buffer("q")


def test_chat_messages_and_rubrics(world: World, build: Build) -> None:
    group = world.group("q", 1, 2)
    chat = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
    scorer = build()
    rubrics: list[Any] = [
        rb.Rubric("Is kind.", weight=5),
        "Is short.",
        {"text": "Is true.", "weight": 2},
    ]
    scorer.create_buffer("q", query=chat, rubrics=rubrics)
    assert scorer.score_group("q", group).ranks == [0, 1]
    buffer = scorer.buffer("q")
    assert buffer.query == chat
    assert buffer.rubrics == [
        rb.Rubric("Is kind.", weight=5),
        rb.Rubric("Is short."),
        rb.Rubric("Is true.", weight=2),
    ]


def test_buffer_shows_the_scale(world: World, query: Build) -> None:
    scorer = query()
    before = scorer.buffer("q")
    assert [a.text for a in before.anchors] == world.group("q", 0, 2, 4, 6)
    assert {a.source for a in before.anchors} == {"ranked"}
    assert (before.query_id, before.initial, before.epochs_seen) == ("q", 4, [])

    scorer.score_group("q", world.group("q", -1, 7), step=3, epoch=2)
    after = scorer.buffer("q")
    assert [a.text for a in after.anchors] == world.group("q", -1, 0, 2, 4, 6, 7)
    assert (after.anchors[0].source, after.anchors[-1].source) == ("left", "right")
    assert (after.anchors[0].epoch, after.anchors[0].step) == (2, 3)
    assert after.epochs_seen == [2]
    assert after.raw["anchors"][0]["text"] == after.anchors[0].text


def test_bootstrap_starts_from_the_first_group(world: World, build: Build) -> None:
    group = world.group("q", *MIXED)
    scorer = build()
    scorer.create_buffer("q", query="What is good?")
    assert scorer.buffer("q").anchors == []
    first = scorer.score_group("q", group)
    assert first.ranks == MIXED_RANKS
    assert (first.anchors_before, first.anchors) == (0, 4)
    assert first.positions == [None] * 8


def test_validation_changes_nothing(world: World, query: Build) -> None:
    scorer = query()
    before = scorer.buffer("q")
    result = scorer.score_group("q", world.group("q", -1, 3, 7), validate=True)
    assert result.rewards == [-1, 0, 1]
    assert scorer.buffer("q") == before


def test_rewards_that_nothing_was_asked_for_say_so(world: World, build: Build) -> None:
    """Validation without a scale is 0 for all, by design, with the status ok."""
    texts = world.group("q", -1, 3, 7)
    for method, why in (
        (rb.RankBuffer(), "the query has no buffer yet"),
        (rb.SCR(), "the method only compares the responses of a group"),
    ):
        scorer = build(method)
        unjudged = scorer.score_group("q", texts, query="?", validate=True)
        assert unjudged.rewards == [0, 0, 0]
        assert unjudged.calls == {}
        assert why in unjudged.detail["unjudged"]
        judged = scorer.score_group("q", texts)
        assert "unjudged" not in judged.detail


def test_what_the_caller_knows_of_responses(world: World, query: Build) -> None:
    group = [*world.group("q", 1.5, 5.5, 3.5), "  "]
    result = query(rb.RankBuffer(format_weight=0.5)).score_group(
        "q", group, eligible=[True, False, True, True], format_scores=[0, 1, 1, 0]
    )
    assert result.status == ["ok", "ineligible", "ok", "empty"]
    assert result.rewards == pytest.approx([1 / 3, -0.5, 1.5, -1])


def test_numbers_and_lists_of_other_libraries(world: World, query: Build) -> None:
    """Whatever converts to int, float or bool, in whatever can be iterated."""
    from fractions import Fraction

    class Scalar:
        def __init__(self, value: int) -> None:
            self.value = value

        def __index__(self) -> int:
            return self.value

        def __eq__(self, other: object) -> bool:
            return self.value == other

        def __bool__(self) -> bool:
            return self.value != 0

    group = world.group("q", 1.5, 5.5, 3.5)
    plain = query().score_group(
        "q", group, eligible=[True, False, True], format_scores=[0, 0.5, 1], step=3, epoch=0
    )
    others = query().score_group(
        "q",
        (text for text in group),
        eligible=[Scalar(1), Scalar(0), 1],  # type: ignore[list-item]
        format_scores=(Fraction(0), Fraction(1, 2), Fraction(1)),
        step=Scalar(3),  # type: ignore[arg-type]
        epoch=False,
        deadline=Fraction(30),  # type: ignore[arg-type]
    )
    assert _timeless(others) == _timeless(plain)


def test_numpy_is_welcome(world: World, query: Build) -> None:
    np = pytest.importorskip("numpy")
    group = world.group("q", 1.5, 5.5, 3.5)
    plain = query().score_group(
        "q", group, eligible=[True, False, True], format_scores=[0, 0.5, 1], step=1, epoch=0
    )
    arrays = query().score_group(
        "q",
        np.array(group, dtype=object),
        eligible=np.array([True, False, True]),
        format_scores=np.array([0, 0.5, 1], dtype=np.float32),
        step=np.int64(1),
        epoch=np.int32(0),
        update=np.bool_(True),
        deadline=np.float64(30),
    )
    assert _timeless(arrays) == _timeless(plain)
    strings = query().score_group("q", tuple(np.array(group)))
    assert strings.ranks == [0, 2, 1]


def test_deadline_ends_a_slow_group(world: World, query: Build) -> None:
    scorer = query(latency_ms=NEVER_MS)
    before = scorer.buffer("q")
    result = scorer.score_group("q", world.group("q", 1.5, 2.5), deadline=0.05)
    assert result.status == ["timeout", "timeout"]
    assert result.group_status == "failed"
    assert result.advantages == [0, 0]
    assert scorer.buffer("q") == before


def test_failure_policy_raise(world: World, query: Build) -> None:
    scorer = query(on_failure="raise", failure_rate=1.0, max_retries=0)
    with pytest.raises(rb.JudgeError):
        scorer.score_group("q", world.group("q", 1.5, 2.5))
    with pytest.raises(rb.JudgeError):
        asyncio.run(scorer.score_group_async("q", world.group("q", 1.5, 2.5)))


def test_failure_policy_mean(world: World, query: Build) -> None:
    scorer = query(failure_rate=1.0, max_retries=0)
    result = scorer.score_group("q", world.group("q", 1.5, 2.5))
    assert result.status == ["judge_failed", "judge_failed"]
    assert result.group_status == "failed"
    assert result.error != ""


def test_reasoning_is_hidden_or_shown(world: World, build: Build) -> None:
    good, bad = world.group("q", 5, 1)
    thought = f"<think>hm</think>{bad}"
    world.qualities[f"<r>hm</r>{bad}"] = 9.0
    assert build().score_group("q", [good, thought], query="Q").ranks == [1, 0]
    own = build(reasoning=("<r>", "</r>"))
    assert own.score_group("q", [good, f"<r>hm</r>{bad}"], query="Q").ranks == [1, 0]
    shown = build(reasoning=None)
    assert shown.score_group("q", [good, f"<r>hm</r>{bad}"], query="Q").ranks == [0, 1]


def test_text_survives_the_way(build: Build, world: World) -> None:
    """Every kind of character comes back in the buffer as it went in."""
    odd = 'quote " backslash \\ nul \x00 tab \t é 漢字 😀 \u2028 \ufffd </answer>'
    world.qualities |= {odd: 1.0, "plain": 0.0}
    scorer = build()
    scorer.create_buffer('id "1"/é', query=odd, ranked=[odd, "plain"])
    buffer = scorer.buffer('id "1"/é')
    assert (buffer.query, [a.text for a in buffer.anchors]) == (odd, ["plain", odd])
    assert scorer.score_group('id "1"/é', ["plain", odd]).ranks == [0, 1]


def test_stats_count_every_call(world: World, query: Build) -> None:
    scorer = query()
    result = scorer.score_group("q", world.group("q", *MIXED))
    stats = scorer.stats()
    assert stats["method"] == "rankbuffer"
    assert stats["groups"] == {"ok": 1}
    assert (stats["queries"], stats["in_flight"]) == (1, 0)
    assert result.calls == {"coarse": 8, "fine": 2}


def _timeless(result: rb.GroupResult) -> dict[str, object]:
    return {k: v for k, v in result.raw.items() if k != "latency_ms"}
