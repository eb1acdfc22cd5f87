"""``rankbuffer prepare``: JSON lines to verl's parquet."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..prepare import LARGE, prepare
from .common.files import check_output
from .common.options import Commands, UsageError, add_command

_EPILOG = f"""\
A row of QUERIES:
  {{"query_id"?, "query": text or chat messages, "rubrics"?: [{{"text", "weight"}}],
   "ranked"? (best first), "reference"?}}
Replay files are such files too. A query without an id is named after its content, so it
has the same buffer in all files. Ranked responses above {LARGE:,} bytes go to a side file
beside the parquet file, because verl copies a row for each of its rollouts.
"""


def add(commands: Commands) -> None:
    parser = add_command(
        commands, "prepare", run,
        summary="turn JSON lines into verl's parquet",
        description="Turns a file of queries into the parquet file that verl trains on.",
        epilog=_EPILOG,
    )  # fmt: skip
    parser.add_argument(
        "source", metavar="QUERIES", help="File of query rows (.jsonl, or gzipped)."
    )
    parser.add_argument("-o", "--out", required=True, metavar="FILE.parquet")
    parser.add_argument(
        "--split", default="train", help="`train` (default); any other name is validation data."
    )
    parser.add_argument(
        "--data-source", default="rankbuffer", metavar="NAME", help="verl's column data_source."
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--side-file", metavar="FILE", help="Write the ranked responses to this side file."
    )
    where.add_argument("--inline", action="store_true", help="Never write a side file.")


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
