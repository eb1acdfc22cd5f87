"""``rankbuffer compare``: all methods on the same groups with the same judge."""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

from ...methods import METHODS
from ...replay import find_replay, qualities, read_replay
from ..common.failures import add_max_failures
from ..common.judge import add_judge, identity, judge_of
from ..common.options import REQUIRED, Commands, add_command, add_options, positive
from .directory import RunDirectory
from .methods import check_method, named_methods
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

If the judge is gone, the run stops with exit code 1 and does not keep the groups that
failed last. The same command scores them. A group that failed earlier in the run
stays failed, and is left out of tau and of the anchors and progress by epoch.
"""

_OPTIONS = {
    "--data REPLAY": "Replay file (.jsonl, or gzipped), or `sample`, which comes with the package.",
    "--methods LABEL,...": (
        "Labels of --method-options (default: all of them), or names of methods: "
        f"{', '.join(METHODS)}."
    ),
    "--method-options FILE": 'JSON file: {label: {"method"?: name, option: value, ...}, ...}.',
    "--epochs N": "Number of epochs; the epochs of the file repeat (default: each once).",
    "--budget TOKENS": "Judge tokens at which each method stops (default: it scores all groups).",
    "--out DIR": "Directory for the results.",
}


def add(commands: Commands) -> None:
    parser = add_command(
        commands, "compare", run,
        "run several methods on the same groups with the same judge",
        "Runs several methods on the groups of a replay file, with the same judge.",
        _EPILOG,
    )  # fmt: skip
    number = {"type": positive}
    add_options(parser, _OPTIONS, data=REQUIRED, out=REQUIRED, epochs=number, budget=number)
    add_max_failures(parser)
    add_judge(parser)


def run(args: argparse.Namespace) -> int:
    data = find_replay(args.data)
    queries = read_replay(data)
    judge = judge_of(args, lambda: qualities(queries))
    methods = named_methods(args.methods, args.method_options)
    epochs = args.epochs or max(len(query.epochs) for query in queries)
    checksum = hashlib.sha256(data.read_bytes()).hexdigest()
    settings = {
        "data": {"sha256": checksum, "queries": len(queries)},
        "epochs": epochs,
        "budget": args.budget,
        "methods": {label: method.to_json() for label, method in methods.items()},
        "judge": identity(judge),
        "seed": args.seed,
    }
    plan = Plan(
        queries=queries,
        epochs=epochs,
        judge=judge,
        seed=args.seed,
        budget=args.budget,
        source=checksum[:12],
        max_failures=args.max_failures,
    )
    for label, method in methods.items():
        check_method(label, method, plan)
    directory = RunDirectory(Path(args.out), settings)
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
