"""Replay files, which hold queries with ranked responses and the rollouts of several epochs.

`rankbuffer.rows` documents their rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from .errors import InputError
from .judges import shown_query
from .rows import ReplayRow
from .rows import read_replay as read_replay

SAMPLE = Path(__file__).parent / "data" / "sample.jsonl"
"""The sample that comes with the package: 12 queries, each with 7 ranked responses, 4 epochs."""


def find_replay(name: str | os.PathLike[str]) -> Path:
    """The path, but for the name ``sample``, which is the sample unless such a file exists."""
    path = Path(name)
    return SAMPLE if os.fspath(name) == "sample" and not path.exists() else path


def qualities(queries: Iterable[ReplayRow]) -> dict[str, float | dict[str, float]]:
    """What ``SimulatedJudge(qualities=...)`` takes: ``{text: quality}``.

    A text that has another quality under another query stands under each of its
    queries: ``{query: {text: quality}}``. InputError if a response has no quality,
    or if a text has two under one query.
    """
    found: dict[str, dict[str, float]] = {}  # by text, then by query
    shown: set[str] = set()
    for row in queries:
        query = shown_query(row.query)
        shown.add(query)
        for response in row.responses():
            quality, text = response.quality, response.text
            if quality is None:
                raise InputError(
                    f"query {row.query_id!r}: the simulated judge needs a quality for each "
                    f"response, there is none for {text[:40]!r}"
                )
            if (first := found.setdefault(text, {}).setdefault(query, quality)) != quality:
                raise InputError(
                    f"query {row.query_id!r}: qualities {first} and {quality} "
                    f"for the same text {text[:40]!r}"
                )
    out: dict[str, float | dict[str, float]] = {}
    by_query: dict[str, dict[str, float]] = {}
    for text, given in found.items():
        if len(set(given.values())) == 1 and text not in shown:
            out[text] = next(iter(given.values()))
        else:
            for query, quality in given.items():
                by_query.setdefault(query, {})[text] = quality
    return out | by_query
