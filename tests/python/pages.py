"""The Markdown pages of the project: their blocks and tables, and how to run a block."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENDPOINT = "http://localhost:8000/v1"
"""The judge of the pages; tests put the address of a server of their own in its place."""


def text(page: str) -> str:
    """A page by its path from the root of the project."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page in one language, in order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text(page), re.MULTILINE | re.DOTALL)
    return [body for name, body in found if name == language]


def table(page: str, head: str) -> list[list[str]]:
    """The rows of the table whose first column has this head."""
    (found,) = re.findall(rf"^\| {head} \|.*\n\| ---.*\n((?:\|.*\n)+)", text(page), re.MULTILINE)
    return [[cell.strip(" `") for cell in row.split("|")[1:-1]] for row in found.splitlines()]


def shim(directory: Path) -> str:
    """A PATH where ``rankbuffer`` is the code under test."""
    command = directory / "bin" / "rankbuffer"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rankbuffer "$@"\n')
    command.chmod(0o755)
    return f"{command.parent}:{os.environ['PATH']}"


def shell(script: str, path: str, directory: Path) -> str:
    """Runs a shell block to its end and returns what it printed."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        capture_output=True,
        text=True,
        cwd=directory,
        timeout=240,
        # Not the make that runs this test.
        env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")} | {"PATH": path},
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def python(code: str, directory: Path, warnings: str = "error") -> str:
    """Runs a Python block, in which a warning is an error, and returns what it printed."""
    script = directory / "example.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, "-W", warnings, str(script)],
        capture_output=True,
        text=True,
        cwd=directory,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def promised(code: str) -> list[str]:
    """What a Python block says that it prints: the comment behind or below each print."""
    found = re.findall(r"print\(.*\)\s+# (.*)$", code, re.MULTILINE)
    assert len(found) == code.count("print(") > 0
    return found
