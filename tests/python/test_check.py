"""What is checked before a run is what a run would find, and nothing is kept or asked."""

from __future__ import annotations

from typing import Any

import pytest

import rankbuffer as rb
from rankbuffer import _ffi

NOBODY = rb.Judge(base_url="http://127.0.0.1:9/v1", model="m")
GOOD: dict[str, Any] = {"query_id": "q", "query": "?", "ranked": ["a", "b"]}


def test_what_can_be_scored() -> None:
    before = _ffi.library().handles_open()
    chat = [{"role": "user", "content": "?", "name": None}]
    rb.check(rb.ScorerConfig(judge=NOBODY))
    rb.check(
        rb.ScorerConfig(judge=NOBODY, method=rb.PRC()),
        [
            GOOD | {"reference": "a", "rubrics": ["short", rb.Rubric("kind", weight=2)]},
            {"query_id": "chat", "query": chat, "reference": "b", "ranked": None},
        ],
    )
    assert _ffi.library().handles_open() == before


@pytest.mark.parametrize(
    ("options", "field", "said"),
    [
        ({"method": rb.RankBuffer(k0=1)}, "method.rankbuffer.k0", "need at least 2, got 1"),
        ({"judge": rb.Judge(base_url="x", model="m")}, "judge.base_url", ""),
        ({"seed": float("nan")}, "seed", "nan is not a finite number"),
        ({"prompts": {"bogus": "/x"}}, "prompts.bogus", ""),
    ],
)
def test_a_wrong_option(options: dict[str, Any], field: str, said: str) -> None:
    config = rb.ScorerConfig(**({"judge": NOBODY} | options))
    for make in (rb.check, rb.Scorer):
        with pytest.raises(rb.ConfigError, match=said or None) as caught:
            make(config)
        assert caught.value.field == field


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"query": ""}, "query", ""),
        ({"ranked": ["a"]}, "ranked", "need at least 2"),
        ({"ranked": ["a", 7]}, "ranked[1]", "must be a string, got int"),
        ({"rubrics": [{"text": "kind", "weight": -1}]}, "rubrics[0].weight", ""),
        ({"query_id": 7}, "query_id", "must be a string, got int"),
        ({"query": "half \ud800"}, "query", "lone surrogate"),
    ],
)
def test_a_wrong_query_is_named_by_its_index(change: dict[str, Any], field: str, said: str) -> None:
    config = rb.ScorerConfig(judge=NOBODY)
    with pytest.raises(rb.InputError, match=said or None) as caught:
        rb.check(config, [GOOD | {"query_id": "first"}, GOOD | change])
    assert caught.value.field == f"queries[1].{field}"


def test_one_query_id_with_two_contents() -> None:
    with pytest.raises(rb.ConflictError) as caught:
        rb.check(rb.ScorerConfig(judge=NOBODY), [GOOD, GOOD, GOOD | {"query": "other?"}])
    assert caught.value.field == "queries[2].query"


def test_what_the_method_needs() -> None:
    with pytest.raises(rb.InputError, match="reference"):
        rb.check(rb.ScorerConfig(judge=NOBODY, method=rb.PRC()), [GOOD])
