"""Wall time of a training step against the critical path of its judge calls."""

from __future__ import annotations

import argparse
import asyncio
import time

from server import serving
from texts import best_first, make_qualities, quantile

import rankbuffer as rb

GOAL = 1.15
QUERIES, GROUP, RANKED = 20, 8, 7


def names(steps: int) -> list[str]:
    ranked = [f"q{q}-ranked{i}" for q in range(QUERIES) for i in range(RANKED)]
    groups = [f"q{q}-s{s}" for q in range(QUERIES) for s in range(steps)]
    return ranked + [f"{group}-r{i}" for group in groups for i in range(GROUP)]


METHODS: dict[str, tuple[rb.Method, int]] = {
    "rankbuffer": (rb.RankBuffer(k0=4), 2),
    "scr": (rb.SCR(), 1),
    "pairwise": (rb.Pairwise(), 1),
    "agr": (rb.AGR(), 1),
    "tournament": (rb.Tournament(), 3),
    "arena": (rb.Arena(), 4),
    "pointwise": (rb.Pointwise(), 1),
    "listwise": (rb.Listwise(), 1),
}
"""By registry name: the method, and the calls on its critical path for 8 rollouts."""


async def one_step(
    scorer: rb.Scorer, step: int, texts: dict[str, str], rounds: int
) -> tuple[float, float]:
    """Returns the step's seconds and its critical path in calls."""
    groups = [[texts[f"q{q}-s{step}-r{i}"] for i in range(GROUP)] for q in range(QUERIES)]
    started = time.perf_counter()
    results = await asyncio.gather(
        *(scorer.score_group_async(f"q{q}", group, step=step) for q, group in enumerate(groups))
    )
    wall = time.perf_counter() - started
    assert all(result.group_status == "ok" for result in results), results
    if all(result.calls.keys() == {"coarse"} for result in results):
        rounds = 1  # no two rollouts met in an interval
    return wall, rounds


async def run(arguments: argparse.Namespace, url: str, qualities: dict[str, float]) -> None:
    texts = {text.split(" ", 1)[0]: text for text in qualities}
    method, rounds = METHODS[arguments.method]
    # Room for all calls of a round at once: the question is what waits for what.
    judge = rb.Judge(base_url=url, model="sim", max_concurrency=2048)
    with rb.Scorer(judge=judge, method=method) as scorer:
        for q in range(QUERIES):
            ranked = best_first([texts[f"q{q}-ranked{i}"] for i in range(RANKED)], qualities)
            scorer.create_buffer(f"q{q}", query=f"Question {q}?", ranked=ranked)
        ratios = []
        for step in range(arguments.steps):
            wall, calls = await one_step(scorer, step, texts, rounds)
            path = calls * arguments.latency / 1000
            ratios.append(wall / path)
            print(f"  step {step:2}: {wall * 1000:6.1f} ms, {wall / path:.3f} x its critical path")
    rest = ratios[1:]
    print(
        f"step: {arguments.method}: first (connections are opened) {ratios[0]:.3f} x, "
        f"median of the others {quantile(rest, 0.5):.3f} x, worst {max(rest):.3f} x"
    )
    print(f"step: goal {GOAL} x of {rounds} x the latency of a call")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", choices=METHODS, default="rankbuffer")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--latency", type=float, default=200, help="of one judge call, in ms")
    parser.add_argument("--size", type=int, default=2000, help="of a response, in bytes")
    arguments = parser.parse_args()
    qualities = make_qualities(names(arguments.steps), arguments.size)
    with serving(qualities, arguments.latency) as url:
        asyncio.run(run(arguments, url, qualities))


if __name__ == "__main__":
    main()
