"""How long scoring a group keeps the GIL from the other threads."""

from __future__ import annotations

import argparse
import asyncio
import threading
import time
from collections.abc import Callable

from server import serving
from texts import best_first, make_qualities

import rankbuffer as rb

GOAL = 300e-6
GROUP, RANKED = 8, 7


class Counter(threading.Thread):
    """Does nothing but look at the clock, and adds up the pauses it notices."""

    NOTICED = 20e-6  # a turn of the loop takes well under a microsecond

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.paused = 0.0
        self.running = True

    def run(self) -> None:
        before = time.perf_counter()
        while self.running:
            now = time.perf_counter()
            if now - before > self.NOTICED:
                self.paused += now - before
            before = now


def pauses(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of pauses another thread noticed while work ran, and how long it ran."""
    counter = Counter()
    counter.start()
    started = time.perf_counter()
    work()
    wall = time.perf_counter() - started
    counter.running = False
    counter.join()
    return counter.paused, wall


def cpu(threads: list[threading.Thread]) -> float:
    """CPU seconds that these threads have used."""
    clocks = [time.pthread_getcpuclockid(t.ident) for t in threads if t.ident is not None]
    return sum(time.clock_gettime(clock) for clock in clocks)


async def score_all(scorer: rb.Scorer, groups: list[list[str]], at_once: int) -> None:
    gate = asyncio.Semaphore(at_once)

    async def one(index: int, group: list[str]) -> None:
        async with gate:
            await scorer.score_group_async(f"q{index}", group)

    await asyncio.gather(*(one(i, group) for i, group in enumerate(groups)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=300)
    parser.add_argument("--at-once", type=int, default=20)
    parser.add_argument("--latency", type=float, default=50, help="of one judge call, in ms")
    parser.add_argument("--size", type=int, default=2000, help="of a response, in bytes")
    arguments = parser.parse_args()

    count = arguments.groups
    qualities = make_qualities(
        [f"q{q}-{i}" for q in range(count) for i in range(RANKED + GROUP)], arguments.size
    )
    texts = list(qualities)
    shares = [texts[at : at + RANKED + GROUP] for at in range(0, len(texts), RANKED + GROUP)]
    groups = [share[RANKED:] for share in shares]
    with (
        serving(qualities, arguments.latency) as url,
        rb.Scorer(judge=rb.Judge(base_url=url, model="sim")) as scorer,
    ):
        for q, share in enumerate(shares):
            ranked = best_first(share[:RANKED], qualities)
            scorer.create_buffer(f"q{q}", query=f"Question {q}?", ranked=ranked)

        before = cpu(threading.enumerate())
        asyncio.run(score_all(scorer, groups, arguments.at_once))
        used = (cpu(threading.enumerate()) - before) / count

        def score() -> None:
            asyncio.run(score_all(scorer, groups, arguments.at_once))

        paused, wall = pauses(score)
        idle, slept = pauses(lambda: time.sleep(wall))
        held = max(0.0, paused - idle * wall / slept) / count

    for name, seconds in (("CPU of Python's threads", used), ("pauses of a counting thread", held)):
        print(f"gil: {name}: {seconds * 1e6:.0f} us a group, {seconds / GOAL:.2f} x the goal")
    print(f"gil: goal {GOAL * 1e6:.0f} us a group of {GROUP} x {arguments.size} bytes")


if __name__ == "__main__":
    main()
