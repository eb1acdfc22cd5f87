"""``rankbuffer compare``: all methods on the same groups with the same judge."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..._version import __version__
from ...errors import ConfigError, InputError, RankBufferWarning
from ...judges import Judge, SimulatedJudge
from ...methods import METHODS, Method, method_from_dict
from ...replay import ReplayQuery, find_replay, qualities, read_replay
from ...scorer import Scorer
from ..common.failures import add_max_failures
from ..common.judge import add_judge, identity, judge_of
from ..common.options import UsageError, positive
from .directory import RunDirectory
from .plan import Plan
from .report import INSTALL
from .table import lines

_EPILOG = """\
DIR/groups.jsonl has a row for each method, query and epoch, DIR/summary.json the
figures by method, DIR/report.html a page of them with plots (which matplotlib
draws: pip install 'rankbuffer[plot]'), and DIR/buffers/ the final buffers, which
`rankbuffer inspect` shows. Killed at any moment, the same command goes on where it was.

Groups are scored by epoch, then in the order of the file. With --budget a method
begins no more of them once its tokens, prompt and completion, have reached it:
the same groups however fast the judge and however often the run was interrupted.

When the judge is gone (--max-failures groups of a method in a row failed, or fewer at
its end and the endpoint does not answer), the run stops with exit code 1, and the same
command goes on before the first of them. Groups that failed in between stay failed, and
count neither for tau nor for anchors and progress by epoch.

FILE of --method-options: {label: {"method"?: registry name, option: value, ...}}
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "compare",
        usage="rankbuffer compare --data REPLAY --methods LABEL,... --out DIR\n"
        "       (--sim [NAME=VALUE,...] | --base-url URL --model NAME) [options]",
        help="run several methods on the same groups with the same judge",
        description="All methods on the groups of a replay file, with the same judge.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--data",
        required=True,
        metavar="REPLAY",
        help="replay file (.jsonl, .gz), or `sample` for the one that comes with the package",
    )
    parser.add_argument(
        "--methods",
        metavar="LABEL,...",
        help="of --method-options (all of them if this is left out), or registry names: "
        f"{', '.join(METHODS)}",
    )
    parser.add_argument("--method-options", metavar="FILE", help="JSON file, see below")
    parser.add_argument(
        "--epochs",
        type=positive,
        metavar="N",
        help="cycling through those of the file (default: once)",
    )
    parser.add_argument(
        "--budget",
        type=positive,
        metavar="TOKENS",
        help="judge tokens at which each method stops (default: all groups are scored)",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="where results go")
    add_max_failures(parser)
    add_judge(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    data = find_replay(args.data)
    queries = read_replay(data)
    judge = judge_of(args, lambda: qualities(queries))
    methods = _methods(args.methods, args.method_options)
    for label, method in methods.items():
        _check(label, method, judge, args.seed, queries)
    epochs = args.epochs or max(len(query.epochs) for query in queries)
    checksum = hashlib.sha256(data.read_bytes()).hexdigest()
    settings = {
        "rankbuffer": __version__,
        "data": {"sha256": checksum, "queries": len(queries)},
        "epochs": epochs,
        "budget": args.budget,
        "methods": {label: method.to_json() for label, method in methods.items()},
        "judge": identity(judge),
        "seed": args.seed,
    }
    directory = RunDirectory(Path(args.out), settings)
    plan = Plan(
        queries=queries,
        epochs=epochs,
        judge=judge,
        seed=args.seed,
        budget=args.budget,
        source=checksum[:12],
        max_failures=args.max_failures,
    )
    try:
        outcome = directory.complete(methods, plan)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; the same command goes on where it was") from None
    print("\n".join(lines(outcome.figures, plan.groups)))
    print(f"\n{directory.groups}\n{directory.summary}\n{directory.report}")
    if not outcome.drawn:
        print(f"The page is without plots. For them: {INSTALL}, then the same command again.")
    for label, reasons in outcome.reasons.items():
        for line in reasons.lines(label):
            print(line, file=sys.stderr)
    return 1 if any(method["failed"] for method in outcome.figures.values()) else 0


def _methods(labels: str | None, path: str | None) -> dict[str, Method]:
    """The methods to compare, by label, in the order they were named."""
    options = _read_options(Path(path)) if path is not None else {}
    if labels is None and not options:
        raise UsageError(f"--methods: name some of {', '.join(METHODS)}")
    names = list(options) if labels is None else [name.strip() for name in labels.split(",")]
    methods = {}
    for label in names:
        if not label or label in methods:
            raise UsageError(f"--methods: {label!r} is {'named twice' if label else 'no name'}")
        given = dict(options.get(label, {}))
        name = given.pop("method", label)
        try:
            methods[label] = method_from_dict({"name": name, **given})
        except ConfigError as error:
            where = f"{path}: {label}" if label in options else f"--methods: {label}"
            raise UsageError(f"{where}: {error}") from None
    return methods


def _read_options(path: Path) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{path}:{error.lineno}: not JSON at column {error.colno}: {error.msg}"
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8") from None
    if not isinstance(found, dict) or not found:
        raise UsageError(f'{path}: must hold {{label: {{"method"?, option: value, ...}}}}')
    for label, given in found.items():
        if not isinstance(given, dict):
            raise UsageError(f"{path}: {label}: must be an object of options")
        if "name" in given:
            raise UsageError(
                f'{path}: {label}: unknown option name; the registry name goes into "method"'
            )
    return found


def _check(
    label: str,
    method: Method,
    judge: Judge | SimulatedJudge,
    seed: int,
    queries: Iterable[ReplayQuery],
) -> None:
    """Lets the library look at all options and at the data before any call is paid for."""
    if isinstance(judge, SimulatedJudge):  # its qualities may be large and are checked with the run
        judge = SimulatedJudge(**{**judge.__dict__, "qualities": {"": 0.0}})
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", RankBufferWarning)
        try:
            scorer = Scorer(method=method, judge=judge, seed=seed)
        except ConfigError as error:
            raise UsageError(f"{label}: {error}") from None
    for warning in found:
        warnings.warn(f"{label}: {warning.message}", RankBufferWarning, stacklevel=2)
    # What a query lacks for a method is found when a group of it begins.
    kinds = {(bool(query.rubrics), bool(query.ranked)): query for query in reversed(list(queries))}
    with scorer:
        for query in kinds.values():
            texts = [response.text for response in query.ranked]
            group = scorer.open_group(
                query.query_id,
                expected=1,
                query=query.query,
                rubrics=query.rubrics,
                ranked=texts or None,
                reference=texts[0] if texts else None,
            )
            try:
                with group:
                    pass  # without responses nothing is asked
            except InputError as error:
                raise UsageError(f"{label}: {error}") from None
