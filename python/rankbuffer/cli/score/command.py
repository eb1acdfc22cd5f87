"""``rankbuffer score``: batch scoring of group rows."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from ..._version import __version__
from ...errors import ConfigError, InputError
from ...jsonl import read_jsonl
from ...methods import METHODS, Method, method_from_dict
from ...replay import find_replay, qualities, read_replay
from ...scorer import Scorer
from ..common.failures import JudgeGone, Reasons, add_max_failures
from ..common.files import check_output, locked, settle
from ..common.judge import add_judge, identity, judge_of, require_judge
from ..common.options import UsageError, option
from ..common.row_log import Checkpoint, RowLog
from .groups import SAMPLE_GROUPS, Survey, find_groups, survey
from .scoring import Batch, Interrupted, score_all, score_failed_again

_EPILOG = """\
A row of GROUPS is a group: {"query_id", "query"?, "rubrics"?, "ranked"? (best first),
"responses", "reference"?, "eligible"?, "format_scores"?, "epoch"?, "step"?, ...};
query, rubrics and ranked are needed with the first group of a query only. Rows of
OUT are results in the same order. Beside OUT, OUT.rankbuffer/ keeps the buffers:
killed at any moment, the same command goes on near where it was.

When the judge is gone (--max-failures groups in a row failed, or fewer at the end and
its endpoint does not answer), the run stops with exit code 1 before the first of them,
and the same command goes on there. Groups that failed in between are kept as failed;
--retry-failed tries them again, after all others and on the buffers as these left them.
A group that is partial has rewards and is never tried again.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "score",
        help="score groups of responses from a file",
        description="Scores each group of a file of groups.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "groups",
        metavar="GROUPS",
        help="file of groups (.jsonl, .gz), or `sample` for those that come with the package",
    )
    parser.add_argument(
        "-o", "--out", required=True, metavar="OUT", help="file of results (.jsonl)"
    )
    parser.add_argument(
        "--method",
        default="rankbuffer",
        metavar="NAME",
        help=f"default rankbuffer; one of {', '.join(METHODS)}",
    )
    parser.add_argument(
        "--option",
        type=option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="option of the method, for example k0=7; repeat it for several",
    )
    parser.add_argument(
        "--data",
        metavar="REPLAY",
        help="with --sim: replay file with the qualities of the responses, or `sample`, "
        "which is the default for the groups `sample`",
    )
    add_max_failures(parser)
    parser.add_argument(
        "--retry-failed",
        action="store_true",
        help="at the end, score the groups again that failed, also those of earlier runs",
    )
    add_judge(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    groups, out = find_groups(args.groups), Path(args.out)
    data = args.data or ("sample" if groups == SAMPLE_GROUPS and args.sim is not None else None)
    if args.sim is not None and data is None:
        raise UsageError("--sim needs --data, which says how good each response is")
    if args.sim is None and data is not None:
        raise UsageError("--data goes with --sim")
    check_output(out)
    method = _method(args.method, args.option)
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
            settle(
                state / "run.json",
                {
                    "rankbuffer": __version__,
                    "method": method.to_json(),
                    "judge": identity(judge),
                    "seed": args.seed,
                },
                "-o",
            )
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


def _method(name: str, options: list[tuple[str, Any]]) -> Method:
    given = dict(options)
    if len(given) < len(options):
        raise UsageError("--option: the same name twice")
    if "name" in given:
        raise UsageError("--option: the name of the method goes into --method")
    try:
        return method_from_dict({**given, "name": name})
    except ConfigError as error:
        raise UsageError(str(error)) from None


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
    rows = read_jsonl(groups)
    with out.open("rb") as file:
        for line, raw in enumerate(file, start=1):
            if not raw.endswith(b"\n"):
                return
            _, _, group = next(rows, (0, b"", None))
            try:
                row = json.loads(raw)
                same = (
                    group is not None
                    and row["query_id"] == group["query_id"]
                    and len(row["rewards"]) == len(group["responses"])
                )
            except (ValueError, LookupError, TypeError):
                same = False
            if not same:
                raise InputError(
                    f"{out}:{line}: not the result of row {line} of {groups}; use another -o"
                )


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
