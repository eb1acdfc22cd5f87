"""A small world whose truth is known, for the tests of the Python package."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

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


# Another world: texts that are named after their quality.
NUMBERED = {f"t{i}": float(i) for i in range(100)}
NUMBERED_RANKED = ["t80", "t60", "t40", "t20"]


def numbered_config() -> rb.ScorerConfig:
    """A scorer of the texts t0 to t99, whose judge makes no mistakes."""
    return rb.ScorerConfig(judge=rb.SimulatedJudge(qualities=NUMBERED), method=rb.RankBuffer(k0=4))


def numbered_scorer() -> rb.Scorer:
    return rb.Scorer(numbered_config())


# Qualities of one group in no order, and the rewards a ranking method gives them.
MIXED = (2.5, -1.0, 6.5, 2.25, 4.5, 0.5, 2.75, 7.5)
MIXED_RANKS = [3.0, 0.0, 6.0, 2.0, 5.0, 1.0, 4.0, 7.0]


def linear(ranks: Sequence[float]) -> list[float]:
    """The reward of each rank: -1 for the worst, 1 for the best."""
    return [-1 + 2 * rank / (len(ranks) - 1) for rank in ranks]


def until(condition: Callable[[], bool]) -> None:
    """Waits for something that another thread does; the test's time limit ends it."""
    while not condition():
        time.sleep(0.001)


def in_flight(scorer: rb.Scorer) -> int:
    return int(scorer.stats()["in_flight"])
