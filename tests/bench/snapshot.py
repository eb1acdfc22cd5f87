"""Scoring while 10,000 buffers are written to a checkpoint."""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

from texts import best_first, make_qualities, quantile

import rankbuffer as rb

GROUP, RANKED = 8, 4
BUSY = 16  # queries that are scored again and again, by a thread each


class Rollouts(threading.Thread):
    """Scores groups of one query until told to stop; keeps when and how long."""

    def __init__(self, scorer: rb.Scorer, query_id: str, responses: list[str]) -> None:
        super().__init__()
        self.scorer, self.query_id, self.responses = scorer, query_id, responses
        self.spans: list[tuple[float, float]] = []
        self.running = True

    def run(self) -> None:
        while self.running:
            started = time.perf_counter()
            self.scorer.score_group(self.query_id, self.responses)
            self.spans.append((started, time.perf_counter()))


def report(name: str, spans: list[tuple[float, float]], seconds: float) -> tuple[float, float]:
    """Prints and returns the median latency in ms and the groups a second."""
    latencies = [(end - start) * 1000 for start, end in spans]
    middle, rate = quantile(latencies, 0.5), len(spans) / seconds
    worst = quantile(latencies, 0.99)
    print(f"  {name}: {rate:.0f} groups/s, latency {middle:.1f} ms, 99 % {worst:.1f} ms")
    return middle, rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--buffers", type=int, default=10_000)
    parser.add_argument("--snapshots", type=int, default=5)
    parser.add_argument("--latency", type=float, default=20, help="of one judge call, in ms")
    parser.add_argument("--size", type=int, default=1000, help="of a response, in bytes")
    arguments = parser.parse_args()

    names = [f"q{q}-{i}" for q in range(arguments.buffers) for i in range(RANKED)]
    rollouts = [f"q{q}-r{i}" for q in range(BUSY) for i in range(GROUP)]
    qualities = make_qualities(names + rollouts, arguments.size)
    texts = list(qualities)
    judge = rb.SimulatedJudge(qualities=qualities, latency_ms=arguments.latency)
    with (
        tempfile.TemporaryDirectory() as directory,
        rb.Scorer(judge=judge, method=rb.RankBuffer(k0=4)) as scorer,
    ):
        path = Path(directory) / "buffers.zst"
        for q in range(arguments.buffers):
            ranked = best_first(texts[q * RANKED : (q + 1) * RANKED], qualities)
            scorer.create_buffer(f"q{q}", query=f"Question {q}?", ranked=ranked)
        started = time.perf_counter()
        scorer.snapshot(path)
        alone = time.perf_counter() - started

        first = len(names)
        threads = [
            Rollouts(scorer, f"q{q}", texts[first + q * GROUP : first + (q + 1) * GROUP])
            for q in range(BUSY)
        ]
        for thread in threads:
            thread.start()
        time.sleep(2)
        calm_from = time.perf_counter()
        time.sleep(2)
        busy_from = time.perf_counter()
        for _ in range(arguments.snapshots):
            scorer.snapshot(path)
        busy_to = time.perf_counter()
        for thread in threads:
            thread.running = False
        for thread in threads:
            thread.join()
        size = path.stat().st_size / 1e6

    spans = [span for thread in threads for span in thread.spans]
    calm = [s for s in spans if calm_from <= s[0] and s[1] <= busy_from]
    busy = [s for s in spans if busy_from <= s[0] and s[1] <= busy_to]
    each = (busy_to - busy_from) / arguments.snapshots
    print(f"  {arguments.buffers} buffers, {size:.1f} MB; a snapshot alone {alone * 1000:.0f} ms")
    middle, rate = report("without a snapshot", calm, busy_from - calm_from)
    middle_busy, rate_busy = report("during snapshots", busy, busy_to - busy_from)
    slower, fewer = middle_busy / middle, rate_busy / rate
    print(f"snapshot: latency of a group {slower:.2f} x, groups/s {fewer:.2f} x")
    print(f"snapshot: takes {each / alone:.2f} x while groups are scored")


if __name__ == "__main__":
    main()
