"""Every command and code block of the pages on verl and TRL is run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rankbuffer
from rankbuffer.verl.extra import GROUP_STATUS, KEYS, STATUS
from rankbuffer.verl.settings import RendezvousSettings

ROOT = Path(__file__).resolve().parents[3]
ENDPOINT = "http://localhost:8000/v1"


def page(name: str) -> str:
    return (ROOT / "python" / "rankbuffer" / name / "README.md").read_text(encoding="utf-8")


def blocks(name: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)


@pytest.fixture
def shell(tmp_path: Path, judge_url: str) -> Any:
    """Runs a block where ``rankbuffer`` is the code under test and the judge is there."""
    shim = tmp_path / "bin" / "rankbuffer"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -W ignore -m rankbuffer "$@"\n')
    shim.chmod(0o755)

    def run(script: str) -> str:
        defaults = f"--base-url {judge_url}"
        script = script.replace(
            "$(rankbuffer verl-config)", f"$(rankbuffer verl-config {defaults})"
        )
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            env={**os.environ, "PATH": f"{shim.parent}:{os.environ['PATH']}"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_verl_page(shell: Any, tmp_path: Path) -> None:
    rows = [{"query": "Why?", "ranked": ["So.", "No."]}, {"query": "How?", "query_id": "how"}]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    prepare, config, check = blocks("verl", "sh")
    assert "2 queries, 1 with ranked responses" in shell(prepare)
    assert (tmp_path / "test.parquet").exists()
    assert shell(config) == blocks("verl", "text")[0]
    assert "good: rankbuffer, groups of 8" in shell(check)


def test_verl_page_is_complete() -> None:
    text = page("verl")
    assert all(key in text for key in KEYS)
    found = dict(re.findall(r"^\| (\d+) \| `(\w+)` \|", text, re.MULTILINE))
    assert {name: int(code) for code, name in found.items()} == STATUS
    listed = re.search(r"`rb_group_status` is (.*?);", text)
    assert listed is not None
    pairs = re.findall(r"(\d) `(\w+)`", listed[1])
    assert {name: int(code) for code, name in pairs} == GROUP_STATUS
    table = text.split("`+reward.rankbuffer.rendezvous.`", 1)[1].split("\n\n", 1)[0]
    options = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert options
    assert set(options) <= set(RendezvousSettings.__dataclass_fields__)


@pytest.mark.parametrize("index", [0, 1])
def test_trl_page(index: int, tmp_path: Path) -> None:
    pytest.importorskip("trl")
    from trl_train import WORDS, model

    directory = model(tmp_path / "model")
    rows = [{"prompt": f"{WORDS[i]} {WORDS[i + 1]}"} for i in range(16)]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    said = ["Air scatters blue light most.", "It mirrors the sea."]
    qualities = {text: float(i) for i, text in enumerate([*WORDS, *said])}
    code = blocks("trl", "python")[index].replace('"my-model"', repr(str(directory)))
    small = "use_cpu=True, max_steps=1, max_completion_length=1, bf16=False, report_to=[]"
    code = code.replace("num_generations=8)", f"num_generations=8, {small})")
    with rankbuffer.JudgeServer(rankbuffer.SimulatedJudge(qualities=qualities)) as server:
        assert ENDPOINT in code
        script = tmp_path / "page.py"
        script.write_text(code.replace(ENDPOINT, server.url))
        done = subprocess.run(
            [sys.executable, "-W", "ignore", str(script)],
            cwd=tmp_path,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
            capture_output=True,
            text=True,
            timeout=200,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    if index == 1:
        assert (tmp_path / "buffers.zst").exists()
