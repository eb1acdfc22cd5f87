"""How long scoring a group keeps the GIL from the other threads."""

from __future__ import annotations

import argparse
import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from server import serving
from texts import best_first, make_qualities

import rankbuffer as rb
from rankbuffer import _ffi

GOAL = 300e-6
GROUP, RANKED = 8, 7


class Calls:
    """Times one kind of the library's calls: by the clock, and in CPU time."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.wall = self.cpu = 0.0
        for name, function in table.items():
            table[name] = self.timed(function)

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            wall, cpu = time.perf_counter(), time.thread_time()
            try:
                return function(*arguments)
            finally:
                self.cpu += time.thread_time() - cpu
                self.wall += time.perf_counter() - wall

        return call


def cpu(threads: list[threading.Thread]) -> float:
    """CPU seconds that these threads have used."""
    clocks = [time.pthread_getcpuclockid(t.ident) for t in threads if t.ident is not None]
    return sum(time.clock_gettime(clock) for clock in clocks)


def cpu_of(work: Callable[[], object]) -> float:
    before = cpu(threading.enumerate())
    work()
    return cpu(threading.enumerate()) - before


async def all_groups(one: Callable[[int], Awaitable[object]], count: int, at_once: int) -> None:
    gate = asyncio.Semaphore(at_once)

    async def gated(index: int) -> None:
        async with gate:
            await one(index)

    await asyncio.gather(*(gated(index) for index in range(count)))


def run(scorer: rb.Scorer, groups: list[list[str]], arguments: argparse.Namespace) -> None:
    count = len(groups)

    def score() -> None:
        def one(index: int) -> Awaitable[object]:
            return scorer.score_group_async(f"q{index}", groups[index])

        asyncio.run(all_groups(one, count, arguments.at_once))

    def sleep() -> None:
        """The same tasks, which only wait as long: what asyncio itself takes."""
        seconds = 2 * arguments.latency / 1000
        asyncio.run(all_groups(lambda _: asyncio.sleep(seconds), count, arguments.at_once))

    score()  # connections are opened, the thread for completions is there
    used = (cpu_of(score) - cpu_of(sleep)) / count
    library = _ffi.library()
    calls, free = Calls(library._quick), Calls(library._slow)
    score()
    waiting = (calls.wall - calls.cpu) / count
    held = used - free.cpu / count
    print(f"  CPU time of Python's threads {used * 1e6:.0f} us a group, of which")
    print(f"  {free.cpu / count * 1e6:.0f} us in calls that give the GIL up and")
    print(f"  {calls.cpu / count * 1e6:.0f} us in calls that keep it")
    for name, seconds in (
        ("CPU time but for calls without the GIL", held),
        ("the same, calls by the clock", held + waiting),
    ):
        print(f"gil: {name}: {seconds * 1e6:.0f} us a group, {seconds / GOAL:.2f} x the goal")
    print(f"gil: goal {GOAL * 1e6:.0f} us a group of {GROUP} x {arguments.size} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=300)
    parser.add_argument("--at-once", type=int, default=20)
    parser.add_argument("--latency", type=float, default=50, help="of one judge call, in ms")
    parser.add_argument("--size", type=int, default=2000, help="of a response, in bytes")
    arguments = parser.parse_args()

    queries = range(arguments.groups)
    qualities = make_qualities(
        [f"q{q}-{i}" for q in queries for i in range(RANKED + GROUP)], arguments.size
    )
    texts = list(qualities)
    shares = [texts[at : at + RANKED + GROUP] for at in range(0, len(texts), RANKED + GROUP)]
    with (
        serving(qualities, arguments.latency) as url,
        rb.Scorer(judge=rb.Judge(base_url=url, model="sim")) as scorer,
    ):
        for q, share in zip(queries, shares, strict=True):
            ranked = best_first(share[:RANKED], qualities)
            scorer.create_buffer(f"q{q}", query=f"Question {q}?", ranked=ranked)
        run(scorer, [share[RANKED:] for share in shares], arguments)


if __name__ == "__main__":
    main()
