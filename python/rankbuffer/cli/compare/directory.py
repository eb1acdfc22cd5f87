"""The directory of a comparison: what a run keeps there while it goes on, and its results."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..._whole import write_whole
from ...errors import FileError
from ...methods import Method
from ...rows import ReplayRow
from ...scorer import Scorer
from ..common.failures import Reasons
from ..common.files import locked, settle
from ..common.judge import require_judge
from ..common.options import UsageError
from .plan import Plan
from .report import write_report
from .scoring import ROWS, run_method
from .summary import Summary

_AGAIN = "bring it back from a copy, or delete it to have all groups scored again"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a run."""

    figures: dict[str, Any]
    """By method, as in summary.json."""
    drawn: bool
    """Whether the page has plots."""
    reasons: dict[str, Reasons]
    """Why groups failed or are partial, by method."""


class RunDirectory:
    """The directory of a run: run.json in any case, state/ during the run, the results after it."""

    def __init__(self, out: Path, settings: Mapping[str, Any]) -> None:
        self._out, self._settings = out, settings
        self.groups = out / "groups.jsonl"
        self.summary = out / "summary.json"
        self.report = out / "report.html"

    def complete(self, methods: Mapping[str, Method], plan: Plan) -> Outcome:
        """Runs what is not there yet, and returns the figures."""
        if self._out.exists() and not self._out.is_dir():
            raise UsageError(f"--out: {self._out} is a file; results go into a directory")
        self._out.mkdir(parents=True, exist_ok=True)
        with locked(self._out / ".lock"):
            settings = self._out / "run.json"
            results = [self.groups.exists(), self.summary.exists()]
            if (any(results) or self.report.exists()) and not settings.exists():
                raise UsageError(f"{self._out} holds results without run.json; use another --out")
            if not all(results):
                with Scorer(judge=plan.judge) as scorer:
                    require_judge(scorer)
            settle(settings, self._settings, "--out")
            state = self._out / "state"
            if not all(results):
                state.mkdir(exist_ok=True)
                snapshots = {}
                for i, (label, method) in enumerate(methods.items()):
                    snapshots[label] = asyncio.run(run_method(label, method, plan, state / str(i)))
                self._collect(snapshots, plan)
            # The summary is written last: with it there, nothing else is needed. The
            # page follows from it, and may have been made without what draws its plots.
            shutil.rmtree(state, ignore_errors=True)
            figures, reasons = self._check(list(methods), plan)
            drawn = write_report(self.report, self._settings, figures, plan.groups)
            return Outcome(figures=figures, drawn=drawn, reasons=reasons)

    def _check(
        self, labels: Sequence[str], plan: Plan
    ) -> tuple[dict[str, Any], dict[str, Reasons]]:
        """Figures, and why groups failed. FileError where the results are not whole any more."""
        try:
            figures = json.loads(self.summary.read_text(encoding="utf-8"))["methods"]
            left = [figures[label]["groups"] for label in labels]
        except (ValueError, LookupError, TypeError):
            raise FileError(f"{self.summary}: damaged; {_AGAIN}") from None
        reasons = {label: Reasons() for label in labels}
        with self.groups.open("rb") as file:
            for place, label in enumerate(labels):
                for query_id, epoch in plan.by_query(left[place]):
                    line = file.readline()
                    row = _row(line)
                    if (row.get("method"), row.get("query_id"), row.get("epoch")) != (
                        label, query_id, epoch,
                    ) or not line.endswith(b"\n"):  # fmt: skip
                        raise FileError(
                            f"{self.groups}: damaged, the row of {label}, query {query_id!r}, "
                            f"epoch {epoch} is not in its place; {_AGAIN}"
                        )
                    reasons[label].add(row)
            if file.readline():
                raise FileError(f"{self.groups}: damaged, there are rows too many; {_AGAIN}")
        return figures, reasons

    def _collect(self, snapshots: Mapping[str, Path], plan: Plan) -> None:
        """Puts the rows of all methods into order, and writes the figures."""
        figures = {}
        with write_whole(self.groups) as write:
            for label, snapshot in snapshots.items():
                summary = Summary()
                for line, row in _rows(snapshot.with_name(ROWS), plan.queries):
                    write(line)
                    summary.add(row, plan.qualities(row["query_id"], row["epoch"]))
                figures[label] = summary.to_json()
        buffers = self._out / "buffers"
        buffers.mkdir(exist_ok=True)
        for label, snapshot in snapshots.items():
            if "mean_anchors_by_epoch" in figures[label]:
                shutil.copyfile(snapshot, buffers / f"{quote(label, safe=' ')}.zst")
        with write_whole(self.summary) as write:
            whole = {"methods": figures, "groups": plan.groups, "budget": plan.budget}
            write(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")


def _row(line: bytes) -> dict[str, Any]:
    """The object in a line; empty for anything else."""
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) and "group_status" in row else {}


def _rows(path: Path, queries: Sequence[ReplayRow]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of one method by query, then epoch; they were written by epoch, then query."""
    place = {query.query_id: i for i, query in enumerate(queries)}
    with path.open(encoding="utf-8") as file:
        rows = [(line, json.loads(line)) for line in file]
    rows.sort(key=lambda row: (place[row[1]["query_id"]], row[1]["epoch"]))
    yield from rows
