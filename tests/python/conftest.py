"""What the tests of the Python package share: a small world whose truth is known."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest

import rankbuffer as rb

# Longer than any test may take: a test that passes with such a judge did not
# wait for it.
NEVER_MS = 600_000.0


@dataclass
class World:
    """Queries whose answers have known qualities: the higher the number, the better."""

    qualities: dict[str, float] = field(default_factory=dict)

    def text(self, query_id: str, quality: float) -> str:
        text = f"Answer to {query_id}, {quality:+.3f} good."
        self.qualities[text] = quality
        return text

    def ranked(self, query_id: str, count: int = 7) -> list[str]:
        """Reference answers, best first: whole numbers from count - 1 down to 0."""
        return [self.text(query_id, q) for q in range(count - 1, -1, -1)]

    def group(self, query_id: str, *qualities: float) -> list[str]:
        return [self.text(query_id, q) for q in qualities]

    def judge(self, **options: float) -> rb.SimulatedJudge:
        """A judge that knows every text made so far."""
        return rb.SimulatedJudge(qualities=dict(self.qualities), **options)  # type: ignore[arg-type]


# Qualities of one group in no order, and the rewards a ranking method gives them.
MIXED = (2.5, -1.0, 6.5, 2.25, 4.5, 0.5, 2.75, 7.5)
MIXED_RANKS = [3.0, 0.0, 6.0, 2.0, 5.0, 1.0, 4.0, 7.0]


def linear(ranks: Sequence[float]) -> list[float]:
    """The reward of each rank: -1 for the worst, 1 for the best."""
    return [-1 + 2 * rank / (len(ranks) - 1) for rank in ranks]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def build(world: World) -> Iterator[Callable[..., rb.Scorer]]:
    """Makes scorers over the world and closes them after the test."""
    made: list[rb.Scorer] = []

    def build(method: rb.Method | None = None, **options: object) -> rb.Scorer:
        judge_options = {k: options.pop(k) for k in list(options) if k in _JUDGE_OPTIONS}
        scorer = rb.Scorer(method=method, judge=world.judge(**judge_options), **options)  # type: ignore[arg-type]
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


def until(condition: Callable[[], bool]) -> None:
    """Waits for something that another thread does; the test's time limit ends it."""
    while not condition():
        time.sleep(0.001)


def in_flight(scorer: rb.Scorer) -> int:
    return int(scorer.stats()["in_flight"])


PRELUDE = """
import asyncio, os, pickle, signal, sys, threading, time
import rankbuffer as rb

qualities = {f"answer {i}": float(i) for i in range(8)}
texts = list(qualities)

def scorer(latency_ms=0.0):
    return rb.Scorer(judge=rb.SimulatedJudge(qualities=qualities, latency_ms=latency_ms))

def score(s, query_id="q"):
    return s.score_group(query_id, texts, query="What is good?")

def waiting(s):
    while s.stats()["in_flight"] == 0:
        time.sleep(0.001)
"""


def python(code: str) -> subprocess.Popen[str]:
    """A fresh interpreter that runs the prelude and code; its output is readable by line."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONFAULTHANDLER": "1"},
    )


def run(code: str) -> str:
    """What the code prints; it must end well."""
    process = python(code)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, f"exit {process.returncode}\n{out}\n{err}"
    return out
