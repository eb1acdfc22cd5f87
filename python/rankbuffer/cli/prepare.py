"""``rankbuffer prepare``: JSON lines to verl's parquet."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..prepare import LARGE, prepare
from .common.files import check_output
from .common.options import UsageError

_EPILOG = f"""\
A row: {{"query_id"?, "query": text or chat messages, "rubrics"?: [{{"text", "weight"}}],
"ranked"?: [texts, best first], "reference"?}}; replay files are such rows too.
A query without an id is named after its content, so that it has one buffer in all files.
Ranked responses above {LARGE:,} bytes go to a side file, which the owner of the buffers
reads once, because verl copies a row for every rollout.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "prepare",
        help="turn JSON lines into verl's parquet",
        description="Turns JSON lines into the parquet file that verl trains on.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", metavar="QUERIES", help="JSON lines, plain or gzipped")
    parser.add_argument("-o", "--out", required=True, metavar="FILE.parquet")
    parser.add_argument(
        "--split", default="train", help="`train`, or any other name for validation data"
    )
    parser.add_argument("--data-source", default="rankbuffer", metavar="NAME")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--side-file", metavar="FILE", help="always use this side file")
    where.add_argument("--inline", action="store_true", help="never use a side file")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    out = Path(args.out)
    check_output(out)
    if out.exists() and out.samefile(args.source):
        raise UsageError(f"-o: {out} is the source; name another file")
    done = prepare(
        args.source,
        args.out,
        split=args.split,
        data_source=args.data_source,
        side_file=args.side_file,
        inline=args.inline,
    )
    ranked = f"{done.ranked:,} with ranked responses"
    print(f"{done.parquet}: {done.rows:,} queries, {ranked}")
    if done.side_file is not None:
        path = done.side_file.absolute()
        print(f"{done.side_file}: the ranked responses; add to verl's command line")
        print(f"  +reward.rankbuffer.side_file={path}")
        print("or a list, if both training and validation data have one: side_file=[FILE,FILE]")
    return 0
