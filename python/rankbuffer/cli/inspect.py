"""``rankbuffer inspect``: what a checkpoint holds."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import InputError, NotFoundError
from ..scorer import inspect as inspect_checkpoint
from ..verl.files.beside_model import shards_of
from ..verl.files.layout import HOME, MANIFEST
from .common.options import Commands, add_command, add_options
from .common.text import Style, clip, pad, table, terminal_width

_OPTIONS = {
    "CHECKPOINT": "File of Scorer.snapshot, or the global_step_N/rankbuffer of a verl run.",
    "--query-id Q": "Show the buffer of this query.",
    "--json": "Print JSON, with the whole texts.",
}


def add(commands: Commands) -> None:
    parser = add_command(
        commands, "inspect", run,
        "show what a checkpoint holds",
        "Lists the buffers of a checkpoint, or shows one of them.",
    )  # fmt: skip
    add_options(parser, _OPTIONS)


def run(args: argparse.Namespace) -> int:
    found = _inspect(Path(args.checkpoint), args.query_id)
    if args.json:
        print(json.dumps(found, ensure_ascii=False))
    elif args.query_id is not None:
        _show(found)
    else:
        _list(found)
    return 0


def _inspect(path: Path, query_id: str | None) -> dict[str, Any]:
    """What a file holds, or all shards of a directory as if they were one."""
    if not path.is_dir():
        return inspect_checkpoint(path, query_id)
    shards = _shards(path)
    if query_id is not None:
        for shard in shards:
            with suppress(NotFoundError):
                return inspect_checkpoint(shard, query_id)
        raise NotFoundError(f"{path}: no shard has a query {query_id!r}")
    found = [inspect_checkpoint(shard) for shard in shards]
    queries = [buffer for one in found for buffer in one["queries"]]
    return {
        "meta": found[0]["meta"],
        "queries": sorted(queries, key=lambda buffer: buffer["query_id"]),
    }


def _shards(path: Path) -> list[Path]:
    """Of a directory with a manifest, or of the one in a global_step_N."""
    for directory in (path, path / HOME):
        shards = shards_of(directory)
        if shards:
            return shards
    raise InputError(
        f"{path}: a directory with no {MANIFEST} that names shards: give a file written by "
        "Scorer.snapshot, or the global_step_N/rankbuffer of a verl run"
    )


def _list(found: Mapping[str, Any]) -> None:
    """One line for each query."""
    queries = found["queries"]
    meta = ", ".join(f"{name} {value}" for name, value in found["meta"].items() if value)
    print(f"{len(queries):,} {'query' if len(queries) == 1 else 'queries'} ({meta})")
    if not queries:
        return
    rows = []
    for buffer in queries:
        sources = Counter(anchor["source"] for anchor in buffer["anchors"])
        rows.append(
            (
                clip(buffer["query_id"], terminal_width() // 2),
                str(len(buffer["anchors"])),
                str(buffer["initial"]),
                str(len(buffer["epochs_seen"])),
                " ".join(f"{source}:{n}" for source, n in sorted(sources.items())) or "-",
            )
        )
    print("\n".join(table(("query", "anchors", "at start", "epochs", "sources"), rows)))


def _show(buffer: Mapping[str, Any]) -> None:
    """One buffer, the best anchor first."""
    style, width = Style(sys.stdout), terminal_width()
    query = buffer["query"]
    text = query if isinstance(query, str) else query[-1]["content"]
    print(style(clip(buffer["query_id"], width), "bold"))
    print(clip(text, width))
    for rubric in buffer["rubrics"]:
        print(clip(f"  rubric, weight {rubric['weight']:g}: {rubric['text']}", width))
    seen = buffer["epochs_seen"]
    epochs = ", ".join(map(str, seen)) or "none"
    print(f"epochs seen: {epochs}; {buffer['initial']} anchors at the start")
    if not buffer["anchors"]:
        print("no anchors yet: they come with the first group")
    for k, anchor in reversed(list(enumerate(buffer["anchors"], start=1))):
        since = f"epoch {anchor['epoch']}"
        idle = f" idle {anchor['inactive']}" if anchor["inactive"] else ""
        head = f"{k:>4}  {pad(anchor['source'], 9)}  {pad(since, 9)}{pad(idle, 7)}  "
        print(style(head, "cyan") + clip(anchor["text"], width - len(head)))
