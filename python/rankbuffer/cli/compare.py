"""``rankbuffer compare``: all methods on the same groups with the same judge."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .._version import __version__
from ..errors import ConfigError
from ..judges import Judge, SimulatedJudge
from ..methods import METHODS, Method, method_from_dict
from ..replay import ReplayQuery, find_replay, qualities, read_replay
from ..scorer import Scorer
from .comparing import ROWS, Plan, run_method
from .files import locked, settle, write_whole
from .options import UsageError, add_judge, identity, judge_of, positive, require_judge
from .stats import Summary
from .text import table

_EPILOG = """\
DIR/groups.jsonl has a row for each method, query and epoch, DIR/summary.json the
figures by method, and DIR/buffers/ the final buffers, which `rankbuffer inspect`
shows. Killed at any moment, the same command goes on where it was.

FILE of --method-options: {label: {"method"?: registry name, option: value, ...}}
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "compare",
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
        help=f"of --method-options, or registry names: {', '.join(METHODS)}",
    )
    parser.add_argument("--method-options", metavar="FILE", help="JSON file, see below")
    parser.add_argument(
        "--epochs",
        type=positive,
        metavar="N",
        help="cycling through those of the file (default: once)",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="where results go")
    add_judge(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    data = find_replay(args.data)
    queries = read_replay(data)
    judge = judge_of(args, lambda: qualities(queries))
    methods = _methods(args.methods, args.method_options)
    for label, method in methods.items():
        _check(label, method, judge, args.seed)
    epochs = args.epochs or max(len(query.epochs) for query in queries)
    checksum = hashlib.sha256(data.read_bytes()).hexdigest()
    settings = {
        "rankbuffer": __version__,
        "data": {"sha256": checksum, "queries": len(queries)},
        "epochs": epochs,
        "methods": {label: method.to_json() for label, method in methods.items()},
        "judge": identity(judge),
        "seed": args.seed,
    }
    run_ = _Run(Path(args.out), settings)
    plan = Plan(queries=queries, epochs=epochs, judge=judge, seed=args.seed, mark=checksum[:12])
    try:
        summary = run_.complete(methods, plan)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; the same command goes on where it was") from None
    print("\n".join(_lines(summary)))
    print(f"\n{run_.groups}\n{run_.summary}")
    return 1 if any(method["failed"] for method in summary.values()) else 0


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


def _check(label: str, method: Method, judge: Judge | SimulatedJudge, seed: int) -> None:
    """Lets the library look at all options before any call is paid for."""
    if isinstance(judge, SimulatedJudge):  # its qualities may be large and are checked with the run
        judge = SimulatedJudge(**{**judge.__dict__, "qualities": {"": 0.0}})
    try:
        Scorer(method=method, judge=judge, seed=seed).close()
    except ConfigError as error:
        raise UsageError(f"{label}: {error}") from None


@dataclass
class _Run:
    """The directory of a run: run.json while and after, state/ while, the results after."""

    out: Path
    settings: dict[str, Any]

    @property
    def groups(self) -> Path:
        return self.out / "groups.jsonl"

    @property
    def summary(self) -> Path:
        return self.out / "summary.json"

    def complete(self, methods: Mapping[str, Method], plan: Plan) -> dict[str, Any]:
        """Runs what is not there yet, and returns the figures by method."""
        self.out.mkdir(parents=True, exist_ok=True)
        with locked(self.out / ".lock"):
            results, settings = [self.groups.exists(), self.summary.exists()], self.out / "run.json"
            if any(results) and not settings.exists():
                raise UsageError(f"{self.out} holds results without run.json; use another --out")
            if not all(results):
                with Scorer(judge=plan.judge) as scorer:
                    require_judge(scorer)
            settle(settings, self.settings, "--out")
            state = self.out / "state"
            if not all(results):
                state.mkdir(exist_ok=True)
                snapshots = {}
                for i, (label, method) in enumerate(methods.items()):
                    snapshots[label] = asyncio.run(run_method(label, method, plan, state / str(i)))
                self._collect(snapshots, plan)
            # The summary is written last: with it there, nothing else is needed.
            shutil.rmtree(state, ignore_errors=True)
            found: dict[str, Any] = json.loads(self.summary.read_text(encoding="utf-8"))["methods"]
            return found

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
        buffers = self.out / "buffers"
        buffers.mkdir(exist_ok=True)
        for label, snapshot in snapshots.items():
            if "mean_anchors_by_epoch" in figures[label]:
                shutil.copyfile(snapshot, buffers / f"{quote(label, safe=' ')}.zst")
        with write_whole(self.summary) as write:
            write(json.dumps({"methods": figures}, indent=2, ensure_ascii=False) + "\n")


def _rows(path: Path, queries: Sequence[ReplayQuery]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of one method by query, then epoch; they were written by epoch, then query."""
    place = {query.query_id: i for i, query in enumerate(queries)}
    with path.open(encoding="utf-8") as file:
        rows = [(line, json.loads(line)) for line in file]
    rows.sort(key=lambda row: (place[row[1]["query_id"]], row[1]["epoch"]))
    yield from rows


_HEAD = (
    "method",
    "groups",
    "calls",
    "prompt tok",
    "compl. tok",
    "tau",
    "anchors",
    "flat",
    "failed",
)


def _lines(summary: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The figures as a table."""
    rows = []
    for label, figures in summary.items():
        tau, anchors = figures["kendall_tau"], figures.get("mean_anchors_by_epoch")
        rows.append(
            (
                label,
                f"{figures['groups']:,}",
                f"{figures['calls']:,}",
                f"{figures['prompt_tokens']:,}",
                f"{figures['completion_tokens']:,}",
                "-" if tau is None else f"{tau:.3f}",
                f"{anchors[-1]:.2f}" if anchors else "-",
                f"{figures['zero_spread_share']:.1%}",
                f"{figures['failed']:,}",
            )
        )
    lines = table(_HEAD, rows)
    for label, figures in summary.items():
        if anchors := figures.get("mean_anchors_by_epoch"):
            lines += ["", f"{label}: anchors by epoch  " + "  ".join(f"{a:.2f}" for a in anchors)]
        if progress := figures.get("progress_by_epoch"):
            lines += [f"{label}: progress by epoch " + "  ".join(f"{p:.2f}" for p in progress)]
    return lines
