"""Replay files, which hold queries with ranked responses and the rollouts of several epochs.

`rankbuffer.rows` documents their rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .errors import InputError
from .rows import ReplayRow as ReplayQuery
from .rows import Response as ReplayText
from .rows import read_replay as read_replay

__all__ = ["SAMPLE", "ReplayQuery", "ReplayText", "find_replay", "qualities", "read_replay"]

SAMPLE = Path(__file__).parent / "data" / "sample.jsonl"
"""The sample that comes with the package: 12 queries, each with 7 ranked responses, 4 epochs."""


def find_replay(name: str | os.PathLike[str]) -> Path:
    """The path, but for the name ``sample``, which is the sample unless such a file exists."""
    path = Path(name)
    return SAMPLE if os.fspath(name) == "sample" and not path.exists() else path


def qualities(queries: Iterable[ReplayQuery]) -> dict[str, float]:
    """What ``SimulatedJudge(qualities=...)`` takes.

    The judge knows texts, not queries, so one text with two qualities is an error.
    """
    found: dict[str, float] = {}
    for query in queries:
        for response in query.responses():
            quality = response.quality
            if quality is None:
                raise InputError(
                    f"query {query.query_id!r}: the simulated judge needs a quality for each "
                    f"response, there is none for {response.text[:40]!r}"
                )
            if found.setdefault(response.text, quality) != quality:
                raise InputError(
                    f"query {query.query_id!r}: qualities {found[response.text]} and {quality} "
                    f"for the same text {response.text[:40]!r}"
                )
    return found


def hint(row: Mapping[str, Any], name: str) -> str:
    """Goes when the command line reads its groups with `rankbuffer.rows`."""
    if "epochs" in row and name in ("epochs", "ranked_responses"):
        return "; this is a replay file, which `rankbuffer compare` reads"
    if name == "ranked_responses":
        return "; a file of groups has ranked, a list of texts, best first"
    return ""
