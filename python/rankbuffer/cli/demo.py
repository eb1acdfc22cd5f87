"""``rankbuffer demo``: the idea, shown on the sample that comes with the package."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InputError
from ..methods import Pairwise, RankBuffer
from ..replay import SAMPLE, qualities, read_replay
from ..rows import ReplayRow
from ..scorer import Scorer
from ..types import Buffer, GroupResult
from .common.buffer_view import buffer_view, group_view
from .common.judge import add_simulation, simulated
from .common.options import Commands, add_command, add_options, positive
from .common.text import Style, clean, decimals, table, terminal_width
from .compare.summary import Summary

_SHOWN = "sky-colours"

_OPTIONS = {
    "--query-id Q": f"The query whose buffer is shown (default {_SHOWN}).",
    "--k0 N": "Anchors at the start (default 4).",
}


def add(commands: Commands) -> None:
    parser = add_command(
        commands, "demo", run,
        "see how a buffer works, on a sample with a simulated judge",
        "Runs RankBuffer on the sample that comes with the package, with the simulated judge.\n"
        "It needs no endpoint, no key and no download.",
    )  # fmt: skip
    add_options(parser, _OPTIONS, query_id={"default": _SHOWN}, k0={"type": positive, "default": 4})
    add_simulation(parser)


def run(args: argparse.Namespace) -> int:
    queries = read_replay(SAMPLE)
    shown = next((query for query in queries if query.query_id == args.query_id), None)
    if shown is None:
        known = ", ".join(query.query_id for query in queries)
        raise InputError(f"--query-id: {args.query_id!r} is not in the sample; it has {known}")
    judge = simulated(args.sim or {}, qualities(queries))
    show = _Show(shown, args.sim or {})
    epochs = len(shown.epochs)
    ours, pairs = _Figures(epochs), _Figures(epochs)
    with (
        Scorer(method=RankBuffer(k0=args.k0), judge=judge) as scorer,
        Scorer(method=Pairwise(), judge=judge) as all_pairs,
    ):
        for query in queries:
            ranked = [response.text for response in query.ranked]
            for one in (scorer, all_pairs):
                one.create_buffer(
                    query.query_id, query=query.query, rubrics=query.rubrics, ranked=ranked
                )
        show.opening(scorer.buffer(shown.query_id))
        for epoch in range(epochs):
            for query in queries:
                before = scorer.buffer(query.query_id)
                result = ours.score(scorer, query, epoch)
                pairs.score(all_pairs, query, epoch)
                if query is shown:
                    show.epoch(epoch, before, result, scorer.buffer(query.query_id))
    show.closing(len(queries), ours.columns(), pairs.columns())
    return 1 if ours.whole.failed else 0


class _Figures:
    """The figures of one method, for each epoch and for all together."""

    def __init__(self, epochs: int) -> None:
        self.whole = Summary()
        self._by_epoch = [Summary() for _ in range(epochs)]

    def score(self, scorer: Scorer, query: ReplayRow, epoch: int) -> GroupResult:
        """Scores the query's group of an epoch, and counts it."""
        group = query.epochs[epoch]
        texts = [response.text for response in group]
        result = scorer.score_group(query.query_id, texts, epoch=epoch, step=epoch)
        for summary in (self._by_epoch[epoch], self.whole):
            summary.add(result.raw, [response.quality for response in group])
        return result

    def columns(self) -> list[dict[str, Any]]:
        """As in summary.json: of each epoch, then of all."""
        return [summary.to_json() for summary in (*self._by_epoch, self.whole)]


class _Show:
    """What the demo prints, within the width of the terminal."""

    def __init__(self, query: ReplayRow, noise: Mapping[str, Any]) -> None:
        self._query, self._noise = query, noise
        self._style, self._width = Style(sys.stdout), terminal_width()

    def _say(self, text: str = "") -> None:
        print("\n".join(textwrap.wrap(text, self._width)) if text else "")

    def _heading(self, text: str) -> None:
        print("\n" + self._style(text, "bold"))

    def opening(self, start: Buffer) -> None:
        query = self._query.query
        self._heading("RankBuffer: rewards from a buffer of anchors")
        self._say(
            "A judge is steadier at comparing responses than at scoring them one by one. So each "
            "query has a buffer: a few responses, called anchors, ordered from worst to best. "
            "One judge call places a new response between two anchors. Responses that land in the "
            "same interval are ordered by one more call. The buffer follows the policy: it grows "
            "where responses pass its ends or crowd an interval, and it drops anchors that no "
            "response comes near any more."
        )
        self._heading("One query")
        self._say("“" + clean(query if isinstance(query, str) else query[-1]["content"]) + "”")
        chosen, ranked = len(start.anchors), len(self._query.ranked)
        print(f"Its buffer starts with {chosen} of {ranked} ranked responses:\n")
        print("\n".join(buffer_view(start, self._style, self._width)))

    def epoch(self, epoch: int, before: Buffer, result: GroupResult, after: Buffer) -> None:
        responses = [response.text for response in self._query.epochs[epoch]]
        calls = ", ".join(f"{n} {kind}" for kind, n in sorted(result.calls.items()))
        self._heading(f"Epoch {epoch + 1}: {len(responses)} new responses")
        anchors = f"{result.anchors_before} before, {result.anchors} after"
        print(self._style(f"judge calls: {calls}; anchors: {anchors}", "dim") + "\n")
        print("\n".join(group_view(before, responses, result, after, self._style, self._width)))

    def closing(
        self, queries: int, ours: Sequence[Mapping[str, Any]], pairs: Sequence[Mapping[str, Any]]
    ) -> None:
        self._say()
        self._say(
            "Each line with a bar is a response and its reward, from -1 for the worst of its group "
            "to +1. A name with a plus says that the response became an anchor: left or right of "
            "the ends of the buffer, refine inside a crowded interval. An anchor that leaves had "
            "no response next to it for three epochs."
        )
        self._heading(f"All {queries} queries of the sample")
        head = ["", *(f"epoch {e}" for e in range(1, len(ours))), "all"]
        print("\n".join(table(head, _rows(ours, pairs))))
        self._say()
        self._say(
            "“All pairs” judges every pair of responses instead. Tau says how well rewards agree "
            "with the true order of the responses in a group (1: exactly). Progress is the share "
            "of a query's first anchors that its responses have passed. It shows the policy "
            "getting better, which rewards within a group cannot."
        )
        self._say()
        errors = ", ".join(f"{name} {value}" for name, value in self._noise.items())
        self._say(
            "The judge here is simulated: it knows how good each response of the sample is and "
            + (
                f"makes errors as told ({errors})."
                if errors
                else "makes no errors; try `rankbuffer demo --sim sigma=1,drift=1`."
            )
            + " Tokens are bytes / 4."
        )


def _rows(ours: Sequence[Mapping[str, Any]], pairs: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The rows of the closing table; the last column is that of all epochs."""

    def counts(name: str, columns: Sequence[Mapping[str, Any]], *fields: str) -> list[str]:
        return [name, *(f"{sum(column[field] for field in fields):,}" for column in columns)]

    def taus(name: str, columns: Sequence[Mapping[str, Any]]) -> list[str]:
        return [name, *(decimals(column["kendall_tau_judged"], ".2f") for column in columns)]

    def by_epoch(name: str, field: str) -> list[str]:
        values = [column.get(field, [None])[0] for column in ours[:-1]]
        return [name, *(decimals(value, ".2f") for value in values), ""]

    tokens = ("prompt_tokens", "completion_tokens")
    return [
        counts("judge calls", ours, "calls"),
        counts("  all pairs", pairs, "calls"),
        counts("judge tokens", ours, *tokens),
        counts("  all pairs", pairs, *tokens),
        taus("Kendall tau", ours),
        taus("  all pairs", pairs),
        by_epoch("anchors a query", "mean_anchors_by_epoch"),
        by_epoch("progress", "progress_by_epoch"),
    ]
