"""Runs one method over a replay file; a kill at any moment loses little and changes nothing."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ...errors import RankBufferWarning
from ...judges import Judge, SimulatedJudge
from ...methods import Method
from ...rows import ReplayRow
from ...scorer import Scorer
from ..common.progress import Progress
from ..common.recorder import Recorder
from ..common.row_log import RowLog
from .budget import Budget
from .plan import Plan

ROWS = "rows.jsonl"


async def run_method(label: str, method: Method, plan: Plan, state: Path) -> Path:
    """Scores the groups that ``state`` does not hold yet.

    Returns the checkpoint of the final buffers.
    """
    state.mkdir(exist_ok=True)
    log = RowLog(state / ROWS, state)
    newest = log.newest()
    done = newest.rows if newest is not None else 0
    log.cut(done)
    budget = _budget(plan, log.rows, done)
    recorder = Recorder(log, done, plan.max_failures)
    scorer = _scorer(method, plan, log)
    with Progress(label, plan.groups) as progress:
        progress.begin(done)
        try:
            while not recorder.over and (piece := plan.piece(done, budget))[1]:
                epoch, queries = piece
                for row in await _score(label, scorer, queries, epoch, plan, progress):
                    if budget is not None:
                        budget.add(row, plan.size(done))
                    recorder.take(row, plan.source)
                    done += 1
                recorder.checkpoint(scorer)
                if _counts_attempts(plan.judge):
                    scorer.close()
                    scorer = _scorer(method, plan, log)
            so_far = f"after {recorder.written:,} of {plan.groups:,} groups"
            await recorder.finish(scorer, f"{label}: {so_far}")
        finally:
            scorer.close()
    newest = log.newest()
    assert newest is not None, "a replay file has at least one group"
    return newest.path


def _budget(plan: Plan, rows: Path, done: int) -> Budget | None:
    """What the first ``done`` rows have cost; None without a budget."""
    if plan.budget is None:
        return None
    budget = Budget(plan.budget)
    with rows.open(encoding="utf-8") as file:
        for number, line in enumerate(islice(file, done)):
            budget.add(json.loads(line), plan.size(number))
    return budget


def _counts_attempts(judge: Judge | SimulatedJudge) -> bool:
    """Whether a verdict depends on how often the request was seen before.

    Then each piece of work gets a fresh simulated judge, since a resumed run
    could not know what an earlier process had counted.
    """
    return isinstance(judge, SimulatedJudge) and bool(judge.failure_rate or judge.malformed_rate)


def _scorer(method: Method, plan: Plan, log: RowLog) -> Scorer:
    """A scorer with the buffers of the log's newest checkpoint."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankBufferWarning)  # shown when the options were checked
        scorer = Scorer(method=method, judge=plan.judge, seed=plan.seed)
    if (newest := log.newest()) is not None:
        scorer.restore(newest.path)
    return scorer


async def _score(
    label: str,
    scorer: Scorer,
    queries: Sequence[ReplayRow],
    epoch: int,
    plan: Plan,
    progress: Progress,
) -> list[dict[str, Any]]:
    """The rows of one group for each query, all scored at once."""

    async def one(query: ReplayRow) -> dict[str, Any]:
        result = await scorer.score_group_async(
            query.query_id,
            [response.text for response in plan.rollouts(query, epoch)],
            **plan.description(query),
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
