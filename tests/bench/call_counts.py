"""Judge calls of each method over a training run, counted by running it.

200 steps of 20 queries with 8 rollouts, which are 4,000 groups in 4 epochs over
1,000 queries: the run whose calls RankBuffer's Table 8 lists. The judge is the
simulated one, in process, so that a call costs nothing but its rendering. The
rollouts get better by epoch and all differ; no call fails.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections import Counter

from texts import make_text

import rankbuffer as rb

ROLLOUTS, QUERIES_A_STEP, EPOCHS, RANKED = 8, 20, 4, 7
RUBRICS = [rb.Rubric(f"Criterion {k}.", weight=k) for k in (1, 2, 3, 4)]
GROUPS = 4_000  # what the paper's counts are of

# For each label the method, the calls to expect of a group (None: they depend on
# the policy), and what the paper counted.
METHODS: dict[str, tuple[rb.Method, int | None, str]] = {
    "scr": (rb.SCR(), 28, "104,028"),
    "pairwise": (rb.Pairwise(), 28, "103,035"),
    "agr, 7 anchors": (rb.AGR(), 56, "218,914"),
    "tournament, M=3": (rb.Tournament(repeats=3), 21, "84,000"),
    "arena": (rb.Arena(), 28, "101,388"),
    "pointwise": (rb.Pointwise(), 8, "31,374"),
    "gdpo, 4 rubrics": (rb.GDPO(), 8 * len(RUBRICS), "144,236"),
    "listwise": (rb.Listwise(), 1, ""),
    "rankbuffer": (rb.RankBuffer(), None, "36,861"),
    "rankbuffer, static": (rb.RankBuffer(freeze_after_epochs=1), None, "36,227"),
    "rankbuffer, bootstrap": (rb.RankBuffer(init="bootstrap"), None, "28,378"),
    "rankbuffer, bootstrap, static": (
        rb.RankBuffer(init="bootstrap", freeze_after_epochs=1), None, "28,108",
    ),
    "rankbuffer, llm": (rb.RankBuffer(manager="llm"), None, "41,592"),
    "rankbuffer, llm look-ahead": (rb.RankBuffer(manager="llm_lookahead"), None, "42,101"),
}  # fmt: skip


def texts(query: int) -> tuple[list[str], list[list[str]], dict[str, float]]:
    """Ranked responses, best first, rollouts by epoch, and the quality of each."""
    draw = random.Random(query)
    qualities: dict[str, float] = {}

    def text(name: str, quality: float) -> str:
        made = make_text(f"{name} of {query}", 40)
        qualities[made] = quality
        return made

    ranked = [text(f"reference {k}", 3.0 - k) for k in range(RANKED)]
    epochs = [
        [text(f"rollout {e}.{i}", draw.gauss(0.7 * e - 1.0, 1.5)) for i in range(ROLLOUTS)]
        for e in range(EPOCHS)
    ]
    return ranked, epochs, qualities


async def count(
    method: rb.Method, queries: int, judge: rb.SimulatedJudge
) -> tuple[Counter[str], Counter[str]]:
    """Calls by kind, over all groups and over the first group of each query."""
    total: Counter[str] = Counter()
    first: Counter[str] = Counter()
    with rb.Scorer(method=method, judge=judge) as scorer:
        for step in range(EPOCHS * queries // QUERIES_A_STEP):
            epoch, start = divmod(step * QUERIES_A_STEP, queries)
            results = await asyncio.gather(
                *(
                    _group(scorer, query, epoch, step)
                    for query in range(start, start + QUERIES_A_STEP)
                )
            )
            for result in results:
                assert result.group_status == "ok", result.error
                total.update(result.calls)
                if epoch == 0:
                    first.update(result.calls)
    return total, first


async def _group(scorer: rb.Scorer, query: int, epoch: int, step: int) -> rb.GroupResult:
    ranked, epochs, _ = texts(query)
    return await scorer.score_group_async(
        f"q{query}",
        epochs[epoch],
        query=f"Question {query}?",
        rubrics=RUBRICS,
        ranked=ranked,
        epoch=epoch,
        step=step,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--queries",
        type=int,
        default=1000,
        help="a multiple of 20; the groups are four times as many",
    )
    parser.add_argument("--methods", help="labels that begin with one of these, by comma")
    arguments = parser.parse_args()
    queries = arguments.queries
    if queries < QUERIES_A_STEP or queries % QUERIES_A_STEP:
        parser.error("--queries must be a multiple of 20")
    groups = EPOCHS * queries
    judge = rb.SimulatedJudge(
        qualities={k: v for query in range(queries) for k, v in texts(query)[2].items()}
    )
    wanted = tuple(arguments.methods.split(",")) if arguments.methods else ("",)
    print(f"{groups:,} groups of {ROLLOUTS}, {EPOCHS} epochs over {queries:,} queries\n")
    head = f"{'method':<30} {'calls':>9} {'expected':>9} {'first groups':>12} {'paper':>9}  by kind"
    print(head + "\n" + "-" * len(head))
    wrong = 0
    for label, (method, expected, paper) in METHODS.items():
        if not label.startswith(wanted):
            continue
        began = time.monotonic()
        total, first = asyncio.run(count(method, queries, judge))
        calls, want = sum(total.values()), expected and expected * groups
        wrong += want not in (None, calls)
        kinds = ", ".join(f"{kind} {n:,}" for kind, n in sorted(total.items()))
        shown = paper if groups == GROUPS else ""
        print(
            f"{label:<30} {calls:>9,} {f'{want:,}' if want is not None else 'varies':>9} "
            f"{sum(first.values()):>12,} {shown:>9}  {kinds}",
            flush=True,
        )
        print(f"{label}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
