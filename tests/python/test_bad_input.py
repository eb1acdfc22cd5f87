"""Every mistake in a query or a group: the error names the field, and nothing changed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from known_world import NEVER_MS, World, in_flight

import rankbuffer as rb

Build = Callable[..., rb.Scorer]

GOOD = ["fine", "fair"]

GROUPS: dict[str, tuple[dict[str, Any], str]] = {
    "empty group": ({"responses": []}, "responses: need at least 1"),
    "one string": ({"responses": "fine"}, "responses: must be a list, got str"),
    "mapping": ({"responses": {"a": "b"}}, "responses: must be a list, got dict"),
    "set": ({"responses": {"fine"}}, "responses: must be a list, got set, which has no order"),
    "frozen set": ({"ranked": frozenset(GOOD)}, "ranked: must be a list, got frozenset, which has"),
    "nothing": ({"responses": None}, "responses: must be a list, got NoneType"),
    "bytes": ({"responses": ["fine", b"fair"]}, r"responses\[1\]: must be a string, got bytes"),
    "number": ({"responses": ["fine", 7]}, r"responses\[1\]: must be a string, got int"),
    "None": ({"responses": [None]}, r"responses\[0\]: must be a string, got NoneType"),
    "surrogate": (
        {"responses": ["fine", "fa\udc80ir"]},
        r"responses\[1\]: lone surrogate U\+DC80 at character 2",
    ),
    "long response": (
        {"responses": ["x" * 2001]},
        r"responses\[0\].* than max_response_bytes = 2000",
    ),
    "large group": ({"responses": ["x"] * 65}, "max_group_size = 64"),
    "no query id": ({"query_id": ""}, "query_id"),
    "query id of another type": ({"query_id": 7}, "query_id: must be a string, got int"),
    "surrogate in query id": ({"query_id": "q\ud800"}, r"query_id: lone surrogate U\+D800"),
    "query of another type": (
        {"query": 7},
        "query: must be a text or a list of chat messages, got int",
    ),
    "query that is one message": (
        {"query": {"role": "user", "content": "?"}},
        "query: must be a text or a list of chat messages, got dict",
    ),
    "message without content": ({"query": [{"role": "user"}]}, r"query\[0\]\.content: missing"),
    "message of parts": (
        {"query": [{"role": "user", "content": [{"type": "image"}]}]},
        "query: holds no text for the judge to read",
    ),
    "surrogate in query": ({"query": "\udfff"}, r"query: lone surrogate U\+DFFF"),
    "rubric of another type": ({"rubrics": [7]}, r"rubrics\[0\]: want an object, got number"),
    "rubric field": ({"rubrics": [{"txt": "kind"}]}, "txt"),
    "rubric weight 0": ({"rubrics": [rb.Rubric("kind", weight=0)]}, r"rubrics\[0\]\.weight"),
    "rubric weight NaN": (
        {"rubrics": [rb.Rubric("kind", weight=float("nan"))]},
        r"rubrics\[0\]\.weight: nan",
    ),
    "rubric without text": ({"rubrics": [rb.Rubric(" ")]}, r"rubrics\[0\]\.text"),
    "one ranked": ({"ranked": ["fine"]}, "ranked: need at least 2"),
    "ranked twice": ({"ranked": ["fine", "fine"]}, r"ranked\[1\]"),
    "ranked empty": ({"ranked": ["fine", " "]}, r"ranked\[1\]"),
    "ranked string": ({"ranked": "fine"}, "ranked: must be a list, got str"),
    "eligible count": ({"eligible": [True]}, "eligible: has 1 entries for 2 responses"),
    "eligible text": ({"eligible": [True, "yes"]}, r"eligible\[1\]: must be true or false"),
    "eligible number": ({"eligible": [True, 2]}, r"eligible\[1\]: must be true or false"),
    "format count": ({"format_scores": [1]}, "format_scores: has 1 entries for 2 responses"),
    "format NaN": ({"format_scores": [0, float("nan")]}, r"format_scores\[1\]: nan"),
    "format infinite": ({"format_scores": [float("inf"), 0]}, r"format_scores\[0\]: inf"),
    "format range": ({"format_scores": [0, 1.5]}, r"format_scores\[1\]: 1.5 is not in 0..1"),
    "format text": ({"format_scores": ["1", 0]}, r"format_scores\[0\]: must be a number, got str"),
    "epoch": ({"epoch": -1}, "epoch: need at least 0, got -1"),
    "epoch of another type": ({"epoch": 1.0}, "epoch: must be an integer, got float"),
    "step": ({"step": -1}, "step: need at least 0, got -1"),
    "step text": ({"step": "1"}, "step: must be an integer, got str"),
    "huge step": ({"step": 2**70}, "step"),
    "update": ({"update": "no"}, "update: must be true or false"),
    "deadline NaN": ({"deadline": float("nan")}, "deadline: nan"),
    "negative deadline": ({"deadline": -1}, "deadline: -1.0 seconds is negative"),
    "reference": ({"reference": b"x"}, "reference: must be a string, got bytes"),
}


@pytest.mark.parametrize(("change", "complaint"), GROUPS.values(), ids=GROUPS)
def test_bad_group(change: dict[str, Any], complaint: str, world: World, build: Build) -> None:
    world.qualities |= {"fine": 1.0, "fair": 0.0}
    scorer = build(max_response_bytes=2000, max_group_size=64)
    group = {"query_id": "q", "query": "?", "responses": GOOD, "ranked": GOOD} | change
    with pytest.raises(rb.InputError, match=complaint):
        scorer.score_group(**group)
    with pytest.raises(rb.InputError, match=complaint):
        asyncio.run(scorer.score_group_async(**group))
    stats = scorer.stats()
    assert (stats["queries"], stats["in_flight"], stats["groups"]) == (0, 0, {})


def test_unknown_query_needs_a_query(build: Build) -> None:
    scorer = build()
    with pytest.raises(rb.InputError, match="query: needed the first time"):
        scorer.score_group("q", GOOD)
    with pytest.raises(rb.InputError, match="query"):
        scorer.create_buffer("q", query="")


def test_ranked_start_needs_ranked_responses(build: Build) -> None:
    scorer = build(rb.RankBuffer(init="ranked"))
    with pytest.raises(rb.InputError, match="ranked"):
        scorer.score_group("q", GOOD, query="?")
    with pytest.raises(rb.InputError, match="ranked"):
        scorer.create_buffer("q", query="?")
    assert scorer.stats()["queries"] == 0


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query": "Another?"}, "query"),
        ({"rubrics": [rb.Rubric("kind", weight=2)]}, "rubrics"),
        ({"ranked": ["fair", "fine"]}, "ranked"),
    ],
)
def test_known_query_with_other_content(
    change: dict[str, Any], field: str, world: World, build: Build
) -> None:
    world.qualities |= {"fine": 1.0, "fair": 0.0}
    scorer = build()
    content: dict[str, Any] = {
        "query": "?",
        "rubrics": [rb.Rubric("kind", weight=1)],
        "ranked": GOOD,
    }
    scorer.create_buffer("q", **content)
    before = scorer.buffer("q")
    scorer.create_buffer("q", **content)  # the same: fine
    with pytest.raises(rb.ConflictError, match=field):
        scorer.create_buffer("q", **(content | change))
    with pytest.raises(rb.ConflictError, match=field):
        scorer.score_group("q", GOOD, **(content | change))
    assert scorer.buffer("q") == before
    assert in_flight(scorer) == 0


def test_unknown_names(build: Build) -> None:
    scorer = build()
    with pytest.raises(rb.NotFoundError, match="nobody"):
        scorer.buffer("nobody")
    with pytest.raises((rb.StaleError, rb.NotFoundError), match="q/0/0"):
        scorer.update("q/0/0")
    with pytest.raises(rb.InputError, match="NUL"):
        scorer.buffer("no\0body")
    with pytest.raises(rb.InputError, match="query_id: must be a string, got int"):
        scorer.buffer(7)  # type: ignore[arg-type]
    with pytest.raises(rb.InputError, match="not valid Unicode"):
        scorer.buffer("\ud800")


def test_hundred_megabytes(world: World, build: Build) -> None:
    """Refused by the default limit; larger ones than that pass when the limit is raised."""
    huge = "x" * (100 << 20)
    with pytest.raises(rb.InputError, match=r"responses\[1\].*max_response_bytes = 4194304"):
        build().score_group("q", ["fine", huge], query="?")
    world.qualities["fine"] = 1.0
    large = huge[: 10 << 20]
    scorer = build(max_response_bytes=10 << 20)
    # Ineligible: the judge needs not read it.
    result = scorer.score_group("q", ["fine", large], query="?", eligible=[True, False])
    assert result.status == ["ok", "ineligible"]


def test_paths_that_cannot_be(build: Build, tmp_path: Path) -> None:
    scorer = build()
    with pytest.raises(rb.FileError, match="is a directory"):
        scorer.snapshot(tmp_path)
    with pytest.raises(rb.CheckpointError, match="not a regular file"):
        scorer.restore(tmp_path)
    assert list(tmp_path.iterdir()) == []
    old = tmp_path / "old"
    old.write_text("precious")
    with pytest.raises(rb.FileError, match=r"a journal needs a new file.*restore_from"):
        scorer.journal(old)
    assert old.read_text() == "precious"


def test_options_are_named_as_here(world: World, build: Build) -> None:
    world.qualities |= {"fine": 1.0, "fair": 0.0}
    scorer = build(latency_ms=NEVER_MS, timeout=0.01, max_retries=0)
    result = scorer.score_group("q", GOOD, query="?")
    assert "judge.timeout: no answer within" in result.error
    assert "judge.timeout: " in result["error"]
    late = build(latency_ms=NEVER_MS).score_group("q", GOOD, query="?", deadline=0.01)
    assert "judge.group_timeout" in late.error
    assert "deadline" in late.error


def test_shipped_prompt_templates(world: World, build: Build, tmp_path: Path) -> None:
    """Each can be read, is documented, and given back as one's own changes nothing."""
    with pytest.raises(rb.InputError, match=r"course.*the kinds are coarse, coarse_order") as bad:
        rb.prompt_template("course")
    kinds = str(bad.value).partition("the kinds are ")[2].split(", ")
    assert len(kinds) >= 13
    documented = rb.prompt_template.__doc__ or ""
    paths = {}
    for kind in kinds:
        template = rb.prompt_template(kind)
        assert f"``{kind}``" in documented
        names = re.findall(r"{{(\w+)}}", template)
        assert names
        assert [n for n in names if f"{{{{{n}}}}}" not in documented] == []
        paths[kind] = tmp_path / f"{kind}.txt"
        paths[kind].write_text(template)
    world.qualities |= {"fine": 1.0, "fair": 0.0}
    results = [
        build(**options).score_group("q", GOOD, query="?").raw
        for options in ({}, {"prompts": paths})
    ]
    assert results[0]["tokens"] == results[1]["tokens"]
    with pytest.raises(rb.InputError, match="kind: must be a string, got int"):
        rb.prompt_template(3)  # type: ignore[arg-type]


def test_prompt_template_of_ones_own(world: World, build: Build, tmp_path: Any) -> None:
    template = tmp_path / "coarse.txt"
    template.write_text("Say something nice about {{candidate}}")
    with pytest.raises(rb.ConfigError) as caught:
        build(prompts={"coarse": template})
    assert "coarse" in str(caught.value)
    assert str(template) in str(caught.value)
