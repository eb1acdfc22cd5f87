"""Runs the command line in a process of its own, and reads what it wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rankbuffer.replay import SAMPLE

PATIENCE_S = 60.0


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "rankbuffer", *map(str, arguments)]


def run(*arguments: str | Path, code: int = 0, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs to the end and checks the exit code."""
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=PATIENCE_S, **options
    )
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_until(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Waits for something that the process does; fails if it ends without."""
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert process.poll() is None, f"ended too early: {process.communicate()}"
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def rows(path: Path, *without: str) -> list[dict[str, Any]]:
    """The rows of a results file, but for the fields that may differ between equal runs."""
    with path.open(encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    for row in found:
        for name in ("latency_ms", *without):
            row.pop(name, None)
    return found


def sample_rows() -> list[dict[str, Any]]:
    with SAMPLE.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_rows(path: Path, values: Iterable[object]) -> Path:
    path.write_text(
        "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), encoding="utf-8"
    )
    return path


def write_groups(path: Path, epochs: int = 4) -> Path:
    """The sample as groups, epoch by epoch; a query is described with its first group only."""
    groups = []
    for epoch in range(epochs):
        for query in sample_rows():
            texts = [response["text"] for response in query["epochs"][epoch]]
            group = {"query_id": query["query_id"], "responses": texts, "step": epoch}
            if epoch == 0:
                ranked = [response["text"] for response in query["ranked_responses"]]
                group |= {"query": query["query"], "rubrics": query["rubrics"], "ranked": ranked}
            groups.append(group)
    return write_rows(path, groups)


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, **changes}
