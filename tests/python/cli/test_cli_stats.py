"""Kendall's tau-b and the figures of a run."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from typing import Any

import pytest

from rankbuffer.cli.common.stats import kendall_tau_b, mean_error
from rankbuffer.cli.compare.summary import Summary


@pytest.mark.parametrize(
    ("xs", "ys", "want"),
    [
        ([], [], 0.0),
        ([1.0], [2.0], 0.0),
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([1, 2, 3], [30, 20, 10], -1.0),
        ([1, 1, 1], [1, 2, 3], 0.0),
        ([1, 2, 3], [5, 5, 5], 0.0),
        ([5, 5], [5, 5], 0.0),
        ([1, 2, 3, 4], [1, 2, 4, 3], 4 / 6),
        # One tie on the left: 2 of 3 pairs compare, both agree; 2 / sqrt(2 * 3).
        ([1, 1, 2], [1, 2, 3], 2 / math.sqrt(6)),
        # Ties on both sides, in one pair that is tied in both: 5 / sqrt(5 * 5).
        ([1, 1, 2, 3], [1, 1, 2, 3], 1.0),
    ],
)
def test_tau_by_hand(xs: list[float], ys: list[float], want: float) -> None:
    assert kendall_tau_b(xs, ys) == pytest.approx(want)


def test_tau_equals_its_definition() -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(500):
        n = rng.randrange(2, 9)
        xs = [rng.randrange(4) for _ in range(n)]
        ys = [rng.randrange(4) for _ in range(n)]
        # Daniels' general correlation coefficient with sign scores, over ordered pairs.
        pairs = list(itertools.permutations(range(n), 2))
        a = [math.copysign(1, xs[i] - xs[j]) if xs[i] != xs[j] else 0 for i, j in pairs]
        b = [math.copysign(1, ys[i] - ys[j]) if ys[i] != ys[j] else 0 for i, j in pairs]
        norm = math.sqrt(sum(v * v for v in a) * sum(v * v for v in b))
        want = sum(x * y for x, y in zip(a, b, strict=True)) / norm if norm else 0.0
        assert kendall_tau_b(xs, ys) == pytest.approx(want), (xs, ys)
        assert kendall_tau_b(ys, xs) == pytest.approx(want), (xs, ys)


def _row(epoch: int, rewards: list[float], **fields: Any) -> dict[str, Any]:
    return {
        "query_id": "q",
        "epoch": epoch,
        "rewards": rewards,
        "status": ["ok"] * len(rewards),
        "reward_std": 1.0,
        "group_status": "ok",
        "calls": {"coarse": 2},
        "tokens": {"prompt": 10, "completion": 1, "cached": 4},
        "anchors": 0,
        "anchor_sources": [],
        "progress": [None, None],
    } | fields


def test_figures() -> None:
    summary = Summary()
    summary.add(
        _row(0, [0.0, 1.0], anchors=2, anchor_sources=["ranked", "left"], progress=[0.0, 1.0]),
        [1, 2],
    )
    summary.add(
        _row(
            1,
            [0.0, 1.0],
            query_id="p",
            anchors=3,
            anchor_sources=["ranked"] * 3,
            progress=[1.0, None],
            first_shown={"comparisons": 3, "wins": 2.5},
        ),
        [2, 1],
    )
    summary.add(
        _row(
            1,
            [0.5, 0.5],
            anchors=4,
            anchor_sources=["ranked"] * 4,
            reward_std=0.0,
            first_shown={"comparisons": 1, "wins": 0},
        ),
        [1, 2],
    )
    # Of a failed group nothing but the cost counts, and no agreement.
    summary.add(
        _row(
            2, [0.0, 0.0], group_status="failed", calls={"fine": 1}, anchors=9,
            anchor_sources=["llm"] * 9,
        ),
        [1, 2],
    )  # fmt: skip
    assert summary.to_json() == {
        "groups": 4,
        "calls": 7,
        "calls_by_kind": {"coarse": 6, "fine": 1},
        "prompt_tokens": 40,
        "completion_tokens": 4,
        "cached_tokens": 16,
        "kendall_tau": 0.0,  # 1, -1, undefined; the fourth failed
        "kendall_tau_judged": 0.0,
        "kendall_tau_error": pytest.approx(2 / 3),  # query q has 1 and 0, query p has -1
        "position_bias": 2.5 / 4 - 0.5,
        "position_bias_comparisons": 4,
        "mean_anchors_by_epoch": [2.0, 3.5, None],
        "anchor_sources_by_epoch": [{"left": 1.0, "ranked": 1.0}, {"ranked": 3.5}, {}],
        "progress_by_epoch": [0.5, 1.0, None],
        "zero_spread_share": 0.25,
        "failed": 1,
        "partial": 0,
    }


def test_the_error_of_independent_values_is_that_of_their_mean() -> None:
    values = [0.5, 0.25, 1.0, -0.5]
    want = statistics.stdev(values) / math.sqrt(len(values))
    assert mean_error({str(i): [v] for i, v in enumerate(values)}) == pytest.approx(want)
    # Epochs that repeat each other tell nothing new.
    assert mean_error({str(i): [v] * 5 for i, v in enumerate(values)}) == pytest.approx(want)
    assert mean_error({"alone": values}) is None
    assert mean_error({}) is None


def test_a_failed_group_counts_as_0() -> None:
    summary = Summary()
    summary.add(_row(0, [0.0, 1.0]), [1, 2])
    summary.add(_row(0, [0.0, 0.0], query_id="p", group_status="failed"), [1, 2])
    summary.add(_row(0, [0.0, 0.0], query_id="r", group_status="failed"), [None, None])
    figures = summary.to_json()
    assert (figures["kendall_tau"], figures["kendall_tau_judged"]) == (0.5, 1.0)


def test_what_was_not_judged_is_no_part_of_a_tau() -> None:
    summary = Summary()
    status = ["ok", "judge_failed", "ok", "empty"]
    row = _row(0, [0.5, 0.0, 1.0, -1.0], status=status, group_status="partial")
    summary.add(row | {"progress": []}, [2, 9, 3, 1])
    assert summary.to_json()["kendall_tau"] == 1.0


def test_figures_a_method_does_not_have_are_left_out() -> None:
    summary = Summary()
    summary.add(_row(0, [0.0, 1.0]), [None, None])
    figures = summary.to_json()
    assert figures["kendall_tau"] is figures["kendall_tau_error"] is None
    assert figures["position_bias"] is None
    assert not any(name.endswith("_by_epoch") for name in figures)
