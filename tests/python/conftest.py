"""What the tests of the Python package share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from known_world import MIXED, World

import rankbuffer as rb
from rankbuffer import _ffi, _pump, errors


@pytest.fixture(autouse=True)
def every_error_has_a_code(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No error of the library reaches Python as "internal", which stands for one without a code."""
    without: list[str] = []
    from_library, from_json = errors.from_library, rb.GroupResult.from_json

    def note(code: str, text: str) -> None:
        if code in ("", "internal"):
            without.append(text)

    def noting_error(told: dict[str, Any]) -> rb.RankBufferError:
        note(told["code"], told["message"])
        return from_library(told)

    def noting_result(raw: dict[str, Any]) -> rb.GroupResult:
        if raw.get("error"):
            note(raw.get("error_code", ""), raw["error"])
        return from_json(raw)

    monkeypatch.setattr(_ffi, "from_library", noting_error)
    monkeypatch.setattr(_pump, "from_library", noting_error)
    monkeypatch.setattr(rb.GroupResult, "from_json", noting_result)
    yield
    assert without == []


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def build(world: World) -> Iterator[Callable[..., rb.Scorer]]:
    """Makes scorers over the world and closes them after the test."""
    made: list[rb.Scorer] = []

    def build(method: rb.Method | None = None, **options: object) -> rb.Scorer:
        judge_options = {k: options.pop(k) for k in list(options) if k in _JUDGE_OPTIONS}
        options["method"] = method or rb.RankBuffer()
        scorer = rb.Scorer(judge=world.judge(**judge_options), **options)  # type: ignore[arg-type]
        made.append(scorer)
        return scorer

    yield build
    for scorer in made:
        scorer.close()


_JUDGE_OPTIONS = set(rb.SimulatedJudge.__dataclass_fields__) - {"qualities", "seed"}


@pytest.fixture
def query(world: World, build: Callable[..., rb.Scorer]) -> Callable[..., rb.Scorer]:
    """A scorer that knows query q with 7 ranked answers; MIXED and all halves can be judged."""

    def query(method: rb.Method | None = None, **options: object) -> rb.Scorer:
        ranked = world.ranked("q")
        world.group("q", *MIXED, *(half / 2 for half in range(-6, 20)))
        scorer = build(method, **options)
        scorer.create_buffer("q", query="What is good?", ranked=ranked)
        return scorer

    return query
