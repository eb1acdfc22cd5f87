"""Runs one method over a replay file; a kill at any moment loses little and changes nothing."""

from __future__ import annotations

import asyncio
import functools
import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import RankBufferWarning
from ..judges import Judge, SimulatedJudge
from ..methods import Method
from ..replay import ReplayQuery, ReplayText
from ..scorer import Scorer
from .failures import Streak
from .journal import Journal
from .progress import Progress
from .spending import Spending

ROWS = "rows.jsonl"

# Groups scored at once between two checkpoints. More would leave the judge idle
# less often while the last of them finish, but cost more when the run is killed.
_CHUNK = 128


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The groups that every method gets, in the order of epochs, then queries."""

    queries: list[ReplayQuery]
    epochs: int
    judge: Judge | SimulatedJudge
    seed: int
    budget: int | None
    """Judge tokens at which each method stops."""
    mark: str
    """Names the data in snapshots."""
    max_failures: int
    """Groups that may fail in a row, see ``Streak``."""

    def rollouts(self, query: ReplayQuery, epoch: int) -> list[ReplayText]:
        """The group of an epoch, counted from 0; those of the file come around again."""
        return query.epochs[epoch % len(query.epochs)]

    def qualities(self, query_id: str, epoch: int) -> list[float | None]:
        """Those of a group's responses; None where the file gives none."""
        return [response.quality for response in self.rollouts(self._by_id[query_id], epoch)]

    @functools.cached_property
    def _by_id(self) -> dict[str, ReplayQuery]:
        return {query.query_id: query for query in self.queries}

    @property
    def groups(self) -> int:
        return self.epochs * len(self.queries)

    def group(self, number: int) -> tuple[int, ReplayQuery]:
        """Epoch and query of a group by its place in the order."""
        epoch, place = divmod(number, len(self.queries))
        return epoch, self.queries[place]

    def by_query(self, groups: int) -> Iterator[tuple[str, int]]:
        """Query and epoch of the first so many groups, by query, then epoch."""
        for place, query in enumerate(self.queries):
            for number in range(place, groups, len(self.queries)):
                yield query.query_id, number // len(self.queries)

    def size(self, number: int) -> int:
        """Bytes of the texts that a group's judge may have to read."""
        epoch, query = self.group(number)
        texts = [*query.ranked, *self.rollouts(query, epoch)]
        return len(str(query.query).encode()) + sum(len(t.text.encode()) for t in texts)

    def piece(self, done: int, spending: Spending | None) -> tuple[int, Sequence[ReplayQuery]]:
        """Epoch and queries of the groups to score at once after the first ``done``.

        Pieces end where they end in a run that was never interrupted, and never
        hold two groups of one query. There are none left when the list is empty.
        """
        if done == self.groups or (spending is not None and spending.over):
            return 0, []
        epoch, first = divmod(done, len(self.queries))
        count = min(_CHUNK - first % _CHUNK, len(self.queries) - first)
        if spending is not None:
            count = spending.room(map(self.size, range(done, done + count)))
        return epoch, self.queries[first : first + count]


async def run_method(label: str, method: Method, plan: Plan, state: Path) -> Path:
    """Scores what ``state`` does not hold yet, until the rows there are complete.

    Returns the snapshot of the final buffers.
    """
    state.mkdir(exist_ok=True)
    journal = Journal(state / ROWS, state)
    newest = journal.newest()
    done, snapshot = (newest[0], newest[2]) if newest is not None else (0, None)
    journal.cut(done)
    spending = _spent(plan, journal.rows, done)
    streak: Streak[str] = Streak(plan.max_failures)
    with Progress(label, plan.groups) as progress:
        progress.begin(done)
        scorer = None
        try:
            while not streak.over and (piece := plan.piece(done, spending))[1]:
                epoch, queries = piece
                if scorer is None or _counts_attempts(plan.judge):
                    if scorer is not None:
                        scorer.close()
                    scorer = _scorer(method, plan, snapshot)
                lines = []
                for row in await _score(label, scorer, queries, epoch, plan, progress):
                    if spending is not None:
                        spending.add(row, plan.size(done))
                    done += 1
                    lines += streak.take(row, json.dumps(row, ensure_ascii=False) + "\n")
                if lines:
                    journal.append(lines)
                    snapshot = journal.checkpoint(scorer, done - len(streak), plan.mark)
            if scorer is not None and len(streak):
                kept = done - len(streak)
                await streak.judge(scorer, f"{label}: after {kept:,} of {plan.groups:,} groups")
                journal.append(streak.release())
                snapshot = journal.checkpoint(scorer, done, plan.mark)
        finally:
            if scorer is not None:
                scorer.close()
    assert snapshot is not None, "a replay file has at least one group"
    return snapshot


def _spent(plan: Plan, rows: Path, done: int) -> Spending | None:
    """The account after the first ``done`` rows; None without a budget."""
    if plan.budget is None:
        return None
    spending = Spending(plan.budget)
    with rows.open(encoding="utf-8") as file:
        for number, line in enumerate(islice(file, done)):
            spending.add(json.loads(line), plan.size(number))
    return spending


def _counts_attempts(judge: Judge | SimulatedJudge) -> bool:
    """Whether an answer depends on how often the request was seen before.

    Then each piece of work gets a fresh simulated judge, since a resumed run
    could not know what an earlier process had counted.
    """
    return isinstance(judge, SimulatedJudge) and bool(judge.failure_rate or judge.malformed_rate)


def _scorer(method: Method, plan: Plan, snapshot: Path | None) -> Scorer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankBufferWarning)  # told when the options were checked
        scorer = Scorer(method=method, judge=plan.judge, seed=plan.seed)
    if snapshot is not None:
        scorer.restore(snapshot)
    return scorer


async def _score(
    label: str,
    scorer: Scorer,
    queries: Sequence[ReplayQuery],
    epoch: int,
    plan: Plan,
    progress: Progress,
) -> list[dict[str, Any]]:
    """The rows of one group for each query, all scored at once."""

    async def one(query: ReplayQuery) -> dict[str, Any]:
        ranked = [response.text for response in query.ranked]
        result = await scorer.score_group_async(
            query.query_id,
            [response.text for response in plan.rollouts(query, epoch)],
            query=query.query,
            rubrics=query.rubrics,
            ranked=ranked or None,
            reference=ranked[0] if ranked else None,
            epoch=epoch,
            step=epoch,
        )
        anchors = scorer.buffer(query.query_id).anchors
        progress.advance(sum(result.calls.values()))
        row: dict[str, Any] = {"method": label, "query_id": query.query_id, "epoch": epoch}
        return (
            row
            | {name: value for name, value in result.raw.items() if name not in row}
            | {"anchor_texts": [anchor.text for anchor in anchors]}
            | {"anchor_sources": [anchor.source for anchor in anchors]}
        )

    tasks = [asyncio.ensure_future(one(query)) for query in queries]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
