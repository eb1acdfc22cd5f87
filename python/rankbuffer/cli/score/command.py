"""``rankbuffer score``: batch scoring of group rows."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

from ...errors import InputError
from ...replay import find_replay, qualities, read_replay
from ...rows import GroupRow, read_groups
from ...scorer import Scorer
from ..common.failures import JudgeGone, Reasons, add_max_failures
from ..common.files import check_output, locked, settle
from ..common.judge import add_judge, identity, judge_of, require_judge
from ..common.method import add_method, method_of
from ..common.options import REQUIRED, Commands, UsageError, add_command, add_options
from ..common.row_log import Checkpoint, RowLog
from .groups import SAMPLE_GROUPS, Survey, find_groups, survey
from .scoring import Batch, Interrupted, score_all, score_failed_again

_EPILOG = """\
A row of GROUPS is one group of responses to a query:
  {"query_id", "query"?, "rubrics"?, "ranked"? (best first), "reference"?,
   "responses", "eligible"?, "format_scores"?, "epoch"?, "step"?, ...}
Only the first group of a query needs its query, rubrics and ranked responses.

OUT.rankbuffer/ keeps the buffers. If the run is killed, run the same command again:
it goes on from the last checkpoint.

If the judge is gone, the run stops with exit code 1 and does not keep the groups that
failed last. The same command scores them. A group that failed earlier in the run
stays failed; --retry-failed scores it again, after all others and with the buffers as
they are then. A group that is partial has rewards and is never scored again.
"""

_OPTIONS = {
    "GROUPS": "File of groups (.jsonl, or gzipped), or `sample`, which comes with the package.",
    "-o --out OUT": "File of results (.jsonl) to write.",
    "--data REPLAY": "With --sim: replay file with the qualities. It is `sample` if GROUPS is.",
    "--retry-failed": "At the end, score the groups again that failed, also in earlier runs.",
}


def add(commands: Commands) -> None:
    parser = add_command(
        commands, "score", run,
        "score groups of responses from a file",
        "Scores each group of a file and writes one result for each, in order.",
        _EPILOG,
    )  # fmt: skip
    add_options(parser, _OPTIONS, out=REQUIRED)
    add_max_failures(parser)
    add_method(parser)
    add_judge(parser)


def run(args: argparse.Namespace) -> int:
    groups, out = find_groups(args.groups), Path(args.out)
    data = args.data or ("sample" if groups == SAMPLE_GROUPS and args.sim is not None else None)
    if args.sim is not None and data is None:
        raise UsageError("--sim needs --data, which says how good each response is")
    if args.sim is None and data is not None:
        raise UsageError("--data goes with --sim")
    check_output(out)
    method = method_of(args)
    judge = judge_of(args, lambda: qualities(read_replay(find_replay(data or ""))))
    state = out.with_name(out.name + ".rankbuffer")
    log = RowLog(out, state)
    if state.exists():
        with locked(state / ".lock"):
            log.finish_replacing()
    newest = log.newest()
    found = survey(groups, newest.rows if newest is not None else 0)
    with Scorer(method=method, judge=judge, seed=args.seed) as scorer:
        state.mkdir(exist_ok=True)
        with locked(state / ".lock"):
            if newest is None or newest.rows < found.rows or args.retry_failed:
                require_judge(scorer)
            settings = {
                "method": method.to_json(),
                "judge": identity(judge),
                "seed": args.seed,
            }
            settle(state / "run.json", settings, "-o")
            done = _resume(log, newest, found, groups)
            if newest is not None:
                scorer.restore(newest.path)
            batch = Batch(
                groups=groups,
                total=found.rows,
                scorer=scorer,
                log=log,
                window=judge.max_concurrency,
                max_failures=args.max_failures,
            )
            try:
                asyncio.run(score_all(batch, done))
            except Interrupted as stop:
                raise KeyboardInterrupt(str(stop)) from None
            except JudgeGone:
                _report(out)
                raise
            if args.retry_failed:
                asyncio.run(score_failed_again(batch))
    return _report(out)


def _resume(log: RowLog, newest: Checkpoint | None, found: Survey, groups: Path) -> int:
    """How many rows of the output are kept; drops the rest, refuses an output of other input."""
    if newest is not None and newest.source != found.prefix:
        raise InputError(
            f"{groups}: the first {newest.rows:,} rows are not those that {log.rows} was made "
            "from; use another -o"
        )
    if log.rows.exists():
        _check_rows(log.rows, groups)
    done = newest.rows if newest is not None else 0
    log.cut(done)
    return done


def _check_rows(out: Path, groups: Path) -> None:
    """Refuses to overwrite rows that do not belong to the input, but for a torn last line."""
    rows = read_groups(groups)
    with out.open("rb") as file:
        for line, raw in enumerate(file, start=1):
            if not raw.endswith(b"\n"):
                return
            _, _, group = next(rows, (0, b"", None))
            if group is None or not _is_result(raw, group):
                raise InputError(
                    f"{out}:{line}: not the result of row {line} of {groups}; use another -o"
                )


def _is_result(line: bytes, group: GroupRow) -> bool:
    try:
        row = json.loads(line)
        found = (row["query_id"], len(row["rewards"]))
        return bool(found == (group.query_id, len(group.responses)))
    except (ValueError, LookupError, TypeError):
        return False


def _report(out: Path) -> int:
    """Says what was scored, and on stderr why not all of it; 1 if some groups failed."""
    groups = partial = failed = calls = tokens = 0
    reasons = Reasons()
    with out.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            groups += 1
            partial += row["group_status"] == "partial"
            failed += row["group_status"] == "failed"
            calls += sum(row["calls"].values())
            tokens += row["tokens"]["prompt"] + row["tokens"]["completion"]
            reasons.add(row)
    print(
        f"{out}: {groups:,} groups ({failed:,} failed, {partial:,} partly), "
        f"{calls:,} judge calls, {tokens:,} tokens"
    )
    for line in reasons.lines(str(out)):
        print(line, file=sys.stderr)
    if failed:
        print("--retry-failed tries the failed ones again", file=sys.stderr)
    return 1 if failed else 0
