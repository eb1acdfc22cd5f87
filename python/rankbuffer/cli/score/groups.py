"""Files of groups, looked through before the first judge call is paid for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ...replay import SAMPLE
from ...rows import read_groups

SAMPLE_GROUPS = SAMPLE.with_name("groups.jsonl")
"""The rollouts of the sample as groups, by epoch; for `score sample`."""


def find_groups(name: str) -> Path:
    """The path, but for the name ``sample``, which is the sample unless such a file exists."""
    path = Path(name)
    return SAMPLE_GROUPS if name == "sample" and not path.exists() else path


class Digest:
    """A checksum over the rows read so far."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, body: bytes) -> None:
        self._hash.update(body + b"\n")

    def text(self) -> str:
        return self._hash.hexdigest()[:16]


@dataclass(frozen=True)
class Survey:
    """What a first pass over the groups found."""

    rows: int
    prefix: str
    """Checksum of the first rows, as many as were asked for."""


def survey(path: Path, prefix: int) -> Survey:
    """Reads every row and counts them, so that a bad one is found before hours of judging."""
    digest, checksum, rows = Digest(), "", 0
    for _, body, _ in read_groups(path):
        if rows == prefix:
            checksum = digest.text()
        digest.add(body)
        rows += 1
    return Survey(rows, digest.text() if rows <= prefix else checksum)
