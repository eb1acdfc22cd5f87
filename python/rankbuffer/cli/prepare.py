"""``rankbuffer prepare``: JSON lines to verl's parquet."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..prepare import LARGE, prepare
from .common.files import check_output
from .common.options import REQUIRED, Commands, UsageError, add_command, add_options

_EPILOG = f"""\
A row of QUERIES:
  {{"query_id"?, "query": text or chat messages, "rubrics"?: [{{"text", "weight"}}],
   "ranked"? (best first), "reference"?}}
Replay files are such files too. A query without an id is named after its content, so it
has the same buffer in all files. Ranked responses above {LARGE:,} bytes go to a side file
beside the parquet file, because verl copies a row for each of its rollouts.
"""

_OPTIONS = {
    "QUERIES": "File of query rows (.jsonl, or gzipped).",
    "-o --out FILE.parquet": "File to write.",
    "--split SPLIT": "`train` (default); any other name is validation data.",
    "--data-source NAME": "verl's column data_source (default rankbuffer).",
}
_WHERE = {
    "--side-file FILE": "Write the ranked responses to this side file.",
    "--inline": "Never write a side file.",
}


def add(commands: Commands) -> None:
    parser = add_command(
        commands, "prepare", run,
        "turn JSON lines into verl's parquet",
        "Turns a file of queries into the parquet file that verl trains on.",
        _EPILOG,
    )  # fmt: skip
    source = {"default": "rankbuffer"}
    add_options(parser, _OPTIONS, out=REQUIRED, split={"default": "train"}, data_source=source)
    add_options(parser.add_mutually_exclusive_group(), _WHERE)


def run(args: argparse.Namespace) -> int:
    out = Path(args.out)
    check_output(out)
    if out.exists() and out.samefile(args.queries):
        raise UsageError(f"-o: {out} is the source; name another file")
    done = prepare(
        args.queries,
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
