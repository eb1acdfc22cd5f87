"""Numbers of a result are floats, even where JSON writes them as whole numbers."""

from __future__ import annotations

import rankbuffer as rb


def test_whole_numbers_are_floats() -> None:
    judge = rb.SimulatedJudge(qualities={"best": 3.0, "worst": 0.0, "a": 2.0, "b": 1.0})
    with rb.Scorer(judge=judge) as scorer:
        result = scorer.score_group("q", ["b", "a", ""], query="Why?", ranked=["best", "worst"])
    assert result.rewards == [0.0, 1.0, -1.0]
    numbers = [*result.rewards, *result.advantages, *result.ranks]
    numbers += [p for p in result.progress if p is not None]
    numbers += [result.reward_std, result.latency_ms]
    assert {type(number) for number in numbers} == {float}
