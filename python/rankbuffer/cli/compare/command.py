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
from ...replay import find_replay, qualities, read_replay
from ...rows import ReplayRow
from ...scorer import Scorer
from ..common.failures import add_max_failures
from ..common.judge import add_judge, identity, judge_of
from ..common.options import Commands, UsageError, add_command, positive
from .directory import RunDirectory
from .plan import Plan
from .report import INSTALL
from .table import lines

_EPILOG = """\
DIR/groups.jsonl has one row for each method, query and epoch. DIR/summary.json has the
figures of each method, and DIR/report.html shows them with plots (which need matplotlib:
pip install 'rankbuffer[plot]'). DIR/buffers/ has the final buffers for `rankbuffer inspect`.
If the run is killed, run the same command again: it goes on from the last checkpoint.

Groups are scored by epoch, then in the order of the file. With --budget a method begins
no further group once its prompt and completion tokens have reached the budget. The same
groups are scored however fast the judge is and however often the run is interrupted.

If the judge is gone, the run stops with exit code 1 and drops the groups that failed
last. Run the same command again to score them. A group that failed earlier in the run
stays failed, and is left out of tau and of the anchors and progress by epoch.
"""


def add(commands: Commands) -> None:
    parser = add_command(
        commands, "compare", run,
        summary="run several methods on the same groups with the same judge",
        description="Runs several methods on the groups of a replay file, with the same judge.",
        epilog=_EPILOG,
    )  # fmt: skip
    parser.add_argument(
        "--data",
        required=True,
        metavar="REPLAY",
        help="Replay file (.jsonl, or gzipped). `sample` is the file that comes with the package.",
    )
    parser.add_argument(
        "--methods",
        metavar="LABEL,...",
        help="Labels of --method-options (default: all of them), or names of methods: "
        f"{', '.join(METHODS)}.",
    )
    parser.add_argument(
        "--method-options",
        metavar="FILE",
        help='JSON file: {label: {"method"?: name, option: value, ...}, ...}.',
    )
    parser.add_argument(
        "--epochs",
        type=positive,
        metavar="N",
        help="Number of epochs; the epochs of the file repeat (default: each once).",
    )
    parser.add_argument(
        "--budget",
        type=positive,
        metavar="TOKENS",
        help="Judge tokens at which each method stops (default: it scores all groups).",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="Directory for the results.")
    add_max_failures(parser)
    add_judge(parser)


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
    queries: Iterable[ReplayRow],
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
