"""The simulated judge behind HTTP, in a process of its own as a real one is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import rankbuffer as rb


@contextmanager
def serving(qualities: dict[str, float], latency_ms: float) -> Iterator[str]:
    """Serves until the block ends; yields the base URL."""
    process = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        options = {"qualities": qualities, "latency_ms": latency_ms}
        process.stdin.write(json.dumps(options) + "\n")
        process.stdin.flush()
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()  # the child ends with it
        process.wait()


def main() -> None:
    options = json.loads(sys.stdin.readline())
    with rb.JudgeServer(rb.SimulatedJudge(**options)) as running:
        print(running.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
