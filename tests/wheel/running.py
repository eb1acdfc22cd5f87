"""Running commands for the tests of this directory."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(command: list[str], directory: Path, **environment: str) -> str:
    """Run a command that must succeed; its output. An empty value unsets a variable."""
    merged = {k: v for k, v in {**os.environ, **environment}.items() if v}
    done = subprocess.run(command, cwd=directory, env=merged, capture_output=True, text=True)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    return done.stdout
