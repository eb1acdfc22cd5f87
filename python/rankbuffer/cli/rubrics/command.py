"""``rankbuffer rubrics``: has the judge write rubrics for queries that have none."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..._whole import write_whole
from ...errors import JudgeError
from ...rows import located
from ...scorer import Scorer
from ..common.files import check_output, locked, settle
from ..common.judge import add_judge, identity, judge_of, require_judge
from ..common.options import REQUIRED, Commands, UsageError, add_command, add_options
from ..common.progress import Progress
from ..common.row_log import RowLog
from .rows import Rows, Task, survey

_MOST_THREADS = 256
_MOST_COMPLAINTS = 5
_EPILOG = """\
A row of QUERIES has a query and its ranked responses, best first:
  {"query_id"?, "query", "rubrics"?, "ranked" or "ranked_responses", ...}
Replay files, files of groups and the input of `rankbuffer prepare` are such files. Each
row is written as it was, with 3 to 5 rubrics added. Keep them: use OUT from then on.

OUT.rankbuffer/ keeps the rubrics as they are written. If the run is killed or a query
fails, run the same command again: it asks only for the rubrics that are missing.
"""

_OPTIONS = {
    "QUERIES": "File of query rows (.jsonl, or gzipped).",
    "-o --out OUT": "File to write: the rows with rubrics.",
    "--overwrite": "Also replace the rubrics of rows that have some.",
}


def add(commands: Commands) -> None:
    parser = add_command(
        commands, "rubrics", run,
        "have the judge write rubrics for queries",
        "Has the judge write rubrics for queries that have ranked responses.",
        _EPILOG,
    )  # fmt: skip
    add_options(parser, _OPTIONS, out=REQUIRED)
    add_judge(parser)


def run(args: argparse.Namespace) -> int:
    judge = judge_of(args, lambda: {"": 0.0})  # the simulated judge's rubrics are always the same
    source, out = Path(args.queries), Path(args.out)
    check_output(out)
    rows = survey(source, args.overwrite)
    state = out.with_name(out.name + ".rankbuffer")
    if out.exists() and not (state / "run.json").exists():
        raise UsageError(f"{out} is there and was not written by this command; use another -o")
    with Scorer(judge=judge) as scorer:
        state.mkdir(exist_ok=True)
        with locked(state / ".lock"):
            settings = {
                "queries": {"sha256": rows.checksum, "rows": rows.count},
                "overwrite": args.overwrite,
                "judge": identity(judge),
            }
            log = RowLog(state / "rubrics.jsonl", state)
            written = _written(log)
            todo = [task for name, task in rows.tasks.items() if name not in written]
            if todo:
                require_judge(scorer)
            settle(state / "run.json", settings, "-o")
            try:
                failed = _write(scorer, source, todo, written, log, judge.max_concurrency)
            except KeyboardInterrupt:
                raise KeyboardInterrupt("stopped; the same command goes on where it was") from None
            with write_whole(out) as write:
                for line in rows.filled(written):
                    write(line)
            return _report(out, rows, failed)


def _written(log: RowLog) -> dict[str, Any]:
    """What earlier runs wrote, by query."""
    log.cut(log.count())
    written = {}
    for line in log.rows.read_bytes().splitlines():
        with suppress(ValueError, KeyError, TypeError):  # a damaged row is asked for again
            row = json.loads(line)
            written[row["query"]] = row["rubrics"]
    return written


def _write(
    scorer: Scorer,
    source: Path,
    todo: list[Task],
    written: dict[str, Any],
    log: RowLog,
    at_once: int,
) -> Mapping[str, str]:
    """Has rubrics written, all queries at once as far as the judge takes them.

    Adds them to ``written`` and to the log as they come. Returns the queries that
    failed, and why.
    """
    failed: dict[str, str] = {}
    if not todo:
        return failed
    workers = ThreadPoolExecutor(min(len(todo), at_once, _MOST_THREADS))
    try:
        futures: dict[Future[Any], Task] = {
            workers.submit(_ask, scorer, source, task): task for task in todo
        }
        with Progress("rubrics", len(todo), "queries") as progress:
            for future in as_completed(futures):
                name = futures[future].query.query_id
                try:
                    written[name] = future.result()
                except JudgeError as error:
                    failed[name] = str(error)
                else:
                    log.append([json.dumps({"query": name, "rubrics": written[name]}) + "\n"])
                progress.advance(1)
    finally:
        workers.shutdown(wait=False, cancel_futures=True)
        scorer.close()  # ends the calls of an interrupted run, which the threads wait for
        workers.shutdown()
    return failed


def _ask(scorer: Scorer, source: Path, task: Task) -> list[dict[str, Any]]:
    query = task.query
    with located(source, task.line):
        rubrics = scorer.write_rubrics(query.query_id, query=query.query, ranked=query.texts())
    return [{"text": rubric.text, "weight": rubric.weight} for rubric in rubrics]


def _report(out: Path, rows: Rows, failed: Mapping[str, str]) -> int:
    """Says what was written; 1 if some queries failed."""
    new = len(rows.tasks) - len(failed)
    print(
        f"{out}: {rows.count:,} rows; queries with new rubrics: {new:,}, "
        f"failed: {len(failed):,}, with rubrics of their own: {len(rows.given):,}"
    )
    tasks = sorted(failed, key=lambda name: rows.tasks[name].line)
    for name in tasks[:_MOST_COMPLAINTS]:
        print(f"{rows.path}:{rows.tasks[name].line}: {failed[name]}", file=sys.stderr)
    if failed:
        more = f"and {len(failed) - _MOST_COMPLAINTS:,} more; " * (len(failed) > _MOST_COMPLAINTS)
        print(f"{more}the same command tries those again", file=sys.stderr)
    return 1 if failed else 0
