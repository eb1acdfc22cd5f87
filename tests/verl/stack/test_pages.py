"""Every command and code block of the pages on verl is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from rankbuffer.verl.config.settings import RendezvousSettings
from rankbuffer.verl.rollout_reward import GROUP_STATUS, KEYS, STATUS

ROOT = Path(__file__).resolve().parents[3]
ENDPOINT = "http://localhost:8000/v1"


PAGES = {
    "README": "README.md",
    "verl": "python/rankbuffer/verl/README.md",
}


def page(name: str) -> str:
    return (ROOT / PAGES[name]).read_text(encoding="utf-8")


def blocks(name: str) -> list[str]:
    return re.findall(r"^```\w*\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)


@pytest.fixture
def shell(tmp_path: Path, judge_url: str) -> Any:
    """Runs a block where ``rankbuffer`` is the code under test and the judge is there."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name, module in (("python", ""), ("rankbuffer", "-m rankbuffer")):
        shim = bin_ / name
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -W ignore {module} "$@"\n')
        shim.chmod(0o755)

    def run(script: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script.replace(ENDPOINT, judge_url)],
            env={**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.replace(judge_url, ENDPOINT)

    return run


def test_readme(shell: Any, tmp_path: Path) -> None:
    _make, _python, prepare, train, _compare = blocks("README")
    assert "2 queries, 1 with ranked responses" in shell(prepare)
    assert (tmp_path / "test.parquet").exists()
    shown = shell(f"{train.rstrip()} --cfg job")
    assert "good: rankbuffer, groups of 8" in shown
    assert "name: rankbuffer" in shown
    assert f"base_url: {ENDPOINT}" in shown


def test_verl_page(shell: Any, tmp_path: Path) -> None:
    prepare, config, shown, train, check = blocks("verl")
    assert "2 queries, 1 with ranked responses" in shell(prepare)
    assert (tmp_path / "test.parquet").exists()
    assert shell(config) == shown
    # Hydra composes the run's whole configuration, and prints it instead of running.
    composed = shell(f"{train.rstrip()} --cfg job")
    assert "name: rankbuffer" in composed
    assert f"base_url: {ENDPOINT}" in composed
    assert "good: rankbuffer, groups of 8" in shell(check)


def test_verl_page_is_complete() -> None:
    text = page("verl")
    assert all(key in text for key in KEYS)
    (judged,) = re.findall(r"^\| 0\.\.6 \| `(.*?)` \|", text, re.MULTILINE)
    found = list(enumerate(judged.split()))
    found += re.findall(r"^\| (\d+) \| `(\w+)` \|", text, re.MULTILINE)
    assert {name: int(code) for code, name in found} == STATUS
    listed = re.search(r"`rb_group_status` is (.*?);", text)
    assert listed is not None
    pairs = re.findall(r"(\d) `(\w+)`", listed[1])
    assert {name: int(code) for code, name in pairs} == GROUP_STATUS
    table = text.split("| `+reward.rankbuffer.rendezvous` |", 1)[1].split("\n\n", 1)[0]
    options = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", table, re.MULTILINE))
    assert options == {f.name: shown(f.default) for f in fields(RendezvousSettings)}


def shown(default: Any) -> str:
    """A default as the table has it."""
    if isinstance(default, tuple):
        return ", ".join(shown(value) for value in default)
    return f"`{default}`" if isinstance(default, str) else f"{default:g}"
