"""``rankbuffer demo``: the idea, shown on the sample that comes with the package."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InputError
from ..methods import Pairwise, RankBuffer
from ..replay import SAMPLE, ReplayQuery, ReplayText, qualities, read_replay
from ..scorer import Scorer
from ..types import Buffer, GroupResult
from .common.buffer_view import buffer_view, group_view
from .common.judge import add_simulation, simulated
from .common.options import positive
from .common.stats import kendall_tau_b, mean
from .common.text import Style, clean, decimals, table, terminal_width

_SHOWN = "sky-colours"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "demo",
        help="see the idea on a sample, with a simulated judge",
        description="RankBuffer on the sample that comes with the package, judged by the "
        "simulated judge: no endpoint, no key, no download.",
    )
    parser.add_argument(
        "--query-id",
        metavar="Q",
        default=_SHOWN,
        help=f"show this query's ladder (default {_SHOWN})",
    )
    parser.add_argument(
        "--k0", type=positive, default=4, metavar="N", help="anchors at the start (default 4)"
    )
    add_simulation(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    queries = read_replay(SAMPLE)
    shown = next((query for query in queries if query.query_id == args.query_id), None)
    if shown is None:
        known = ", ".join(query.query_id for query in queries)
        raise InputError(f"--query-id: {args.query_id!r} is not in the sample; it has {known}")
    judge = simulated(args.sim or {}, qualities(queries))
    show = _Show(shown, args.sim or {})
    with (
        Scorer(method=RankBuffer(k0=args.k0), judge=judge) as scorer,
        Scorer(method=Pairwise(), judge=judge) as pairs,
    ):
        for query in queries:
            ranked = [response.text for response in query.ranked]
            for one in (scorer, pairs):
                one.create_buffer(
                    query.query_id, query=query.query, rubrics=query.rubrics, ranked=ranked
                )
        show.opening(scorer.buffer(shown.query_id))
        epochs = []
        for epoch in range(len(shown.epochs)):
            account = Account()
            for query in queries:
                before = scorer.buffer(query.query_id)
                result = _score(scorer, query, epoch)
                account.add(query.epochs[epoch], result, _score(pairs, query, epoch))
                if query is shown:
                    show.epoch(epoch, before, result, scorer.buffer(query.query_id))
            epochs.append(account)
    show.closing(len(queries), epochs)
    return 1 if any(account.failed for account in epochs) else 0


def _score(scorer: Scorer, query: ReplayQuery, epoch: int) -> GroupResult:
    responses = [response.text for response in query.epochs[epoch]]
    return scorer.score_group(query.query_id, responses, epoch=epoch, step=epoch)


class Account:
    """The figures of one epoch over all queries."""

    def __init__(self) -> None:
        self.calls = self.tokens = self.pair_calls = self.pair_tokens = self.failed = 0
        self.taus: list[float] = []
        self.pair_taus: list[float] = []
        self.anchors: list[float] = []
        self.progress: list[float] = []

    def add(self, group: Sequence[ReplayText], result: GroupResult, pairs: GroupResult) -> None:
        self.calls += sum(result.calls.values())
        self.tokens += result.tokens["prompt"] + result.tokens["completion"]
        self.pair_calls += sum(pairs.calls.values())
        self.pair_tokens += pairs.tokens["prompt"] + pairs.tokens["completion"]
        truth = [response.quality or 0.0 for response in group]
        if pairs.group_status != "failed":
            self.pair_taus.append(kendall_tau_b(pairs.rewards, truth))
        if result.group_status == "failed":
            self.failed += 1
            return
        self.taus.append(kendall_tau_b(result.rewards, truth))
        self.anchors.append(result.anchors)
        self.progress += [p for p in result.progress if p is not None]


class _Show:
    """What the demo says, to the width of the terminal."""

    def __init__(self, query: ReplayQuery, noise: Mapping[str, Any]) -> None:
        self._query, self._noise = query, noise
        self._style, self._width = Style(sys.stdout), terminal_width()

    def _say(self, text: str = "") -> None:
        print("\n".join(textwrap.wrap(text, self._width)) if text else "")

    def _heading(self, text: str) -> None:
        print("\n" + self._style(text, "bold"))

    def opening(self, start: Buffer) -> None:
        query = self._query.query
        self._heading("RankBuffer: rewards from a ladder of anchors")
        self._say(
            "A judge is steadier at comparing answers than at scoring them one by one. So each "
            "query keeps a ladder of answers, its anchors, ordered from worst to best. A new "
            "answer costs one call to place it between two anchors; answers that share an "
            "interval are ordered by one call together. The ladder learns: it grows where answers "
            "pass its ends or crowd an interval, and drops rungs that nobody comes near any more."
        )
        self._heading("One query")
        self._say("“" + clean(query if isinstance(query, str) else query[-1]["content"]) + "”")
        chosen, ranked = len(start.anchors), len(self._query.ranked)
        print(f"Its ladder starts with {chosen} of {ranked} ranked answers:\n")
        print("\n".join(buffer_view(start, self._style, self._width)))

    def epoch(self, epoch: int, before: Buffer, result: GroupResult, after: Buffer) -> None:
        responses = [response.text for response in self._query.epochs[epoch]]
        calls = ", ".join(f"{n} {kind}" for kind, n in sorted(result.calls.items()))
        self._heading(f"Epoch {epoch + 1}: {len(responses)} new answers")
        anchors = f"{result.anchors_before} before, {result.anchors} after"
        print(self._style(f"judge calls: {calls}; anchors: {anchors}", "dim") + "\n")
        print("\n".join(group_view(before, responses, result, after, self._style, self._width)))

    def closing(self, queries: int, epochs: Sequence[Account]) -> None:
        self._say()
        self._say(
            "Each line with a bar is an answer and its reward, from -1 for the worst of its group "
            "to +1. A name with a plus says that the answer became an anchor: left or right beyond "
            "an end of the ladder, refine in the middle of a crowded interval. An anchor that "
            "leaves had no answer next to it for three epochs."
        )
        self._heading(f"All {queries} queries of the sample")
        print(
            "\n".join(
                table(
                    ("", *(f"epoch {e + 1}" for e in range(len(epochs))), "all"), _figures(epochs)
                )
            )
        )
        self._say()
        self._say(
            "“All pairs” judges every pair of answers instead. Tau says how well rewards agree "
            "with the true order of the answers in a group (1: exactly). Progress is the share of "
            "a query's first anchors that its answers have passed: it shows the policy getting "
            "better, which rewards within a group cannot."
        )
        self._say()
        errors = ", ".join(f"{name} {value}" for name, value in self._noise.items())
        self._say(
            "The judge here is simulated: it knows how good each answer of the sample is and "
            + (
                f"errs as told ({errors})."
                if errors
                else "makes no errors; try `rankbuffer demo --sim sigma=1,drift=1`."
            )
            + " Tokens are bytes / 4."
        )


def _figures(epochs: Sequence[Account]) -> list[list[str]]:
    """The rows of the closing table; the last column sums up all epochs."""

    def row(name: str, values: Sequence[Sequence[float]], whole: bool) -> list[str]:
        """Means by epoch; the whole is the mean over all groups."""
        together = [mean(v for own in values for v in own)] if whole else []
        return [name, *(decimals(v, ".2f") for v in (*map(mean, values), *together))]

    def total(name: str, values: Sequence[int]) -> list[str]:
        return [name, *(f"{value:,}" for value in (*values, sum(values)))]

    return [
        total("judge calls", [e.calls for e in epochs]),
        total("  all pairs", [e.pair_calls for e in epochs]),
        total("judge tokens", [e.tokens for e in epochs]),
        total("  all pairs", [e.pair_tokens for e in epochs]),
        row("Kendall tau", [e.taus for e in epochs], whole=True),
        row("  all pairs", [e.pair_taus for e in epochs], whole=True),
        [*row("anchors a query", [e.anchors for e in epochs], whole=False), ""],
        [*row("progress", [e.progress for e in epochs], whole=False), ""],
    ]
