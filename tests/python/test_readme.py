"""Every command and code block of README.md is run.

``make test`` is the exception: it runs this test, so only its target is looked
up. What stands in running text is looked up too: make targets and subcommands
exist, and ``pip install .`` is what tests/wheel does. The pages on verl and TRL
need both, and are run by tests/verl/stack/test_pages.py.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from cli_tools import rows

import rankbuffer as rb
from rankbuffer.cli import main
from rankbuffer.cli.methods import CALLS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
HERE = re.sub(r"^## In (verl|TRL)\n.*?(?=^## )", "", README, flags=re.MULTILINE | re.DOTALL)
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", HERE, re.MULTILINE | re.DOTALL)
ENDPOINT = "http://localhost:8000/v1"


def _blocks(language: str) -> list[str]:
    return [body for name, body in BLOCKS if name == language]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH where ``rankbuffer`` is the code under test."""
    shim = tmp_path / "bin" / "rankbuffer"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rankbuffer "$@"\n')
    shim.chmod(0o755)
    return f"{shim.parent}:{os.environ['PATH']}"


def _shell(script: str, path: str, directory: Path) -> str:
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


def _python(code: str, directory: Path) -> subprocess.CompletedProcess[str]:
    script = directory / "example.py"
    script.write_text(code)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        capture_output=True,
        text=True,
        cwd=directory,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_no_block_is_of_a_kind_that_is_not_run() -> None:
    assert {name for name, _ in BLOCKS} == {"sh", "python"}


@pytest.mark.skipif(shutil.which("go") is None, reason="make demo builds the library with Go")
def test_make_commands(path: str) -> None:
    (block,) = (body for body in _blocks("sh") if body.startswith("make"))
    for line in block.splitlines():
        if line == "make test":
            assert re.search("pytest", _shell("make --dry-run test", path, ROOT))
        else:
            assert "Epoch 4" in _shell(line, path, ROOT)


def test_python_block(tmp_path: Path) -> None:
    """It prints what its comments say."""
    block, _ = _blocks("python")
    done = _python(block, tmp_path)
    promised = re.findall(r"print\(.*\)\s+# (\[.*\])$", block, re.MULTILINE)
    assert len(promised) == block.count("print(") == 3
    assert done.stdout.splitlines() == promised
    assert (tmp_path / "buffers.zst").exists()


def test_loop_block(tmp_path: Path) -> None:
    _, block = _blocks("python")
    texts = re.findall(r'"response": "(.*?)"', block)
    judge = rb.SimulatedJudge(qualities={text: float(i) for i, text in enumerate(texts)})
    with rb.JudgeServer(judge) as server:
        assert ENDPOINT in block
        done = _python(block.replace(ENDPOINT, server.url) + "\nprint(rewards)\n", tmp_path)
    assert done.stdout == "[-1.0, 1.0]\n"
    assert (tmp_path / "buffers.zst").exists()


def test_shell_blocks(path: str, tmp_path: Path) -> None:
    blocks = [body for body in _blocks("sh") if not body.startswith("make")]
    compared, own, sample, judged = blocks
    shown = _shell(compared, path, tmp_path)
    for method in ("rankbuffer", "pairwise", "pointwise"):
        assert re.search(rf"^{method} +48 ", shown, re.MULTILINE)
    assert re.search(r"^ +\d+  ranked ", shown, re.MULTILINE)
    assert "<svg" in (tmp_path / "results" / "report.html").read_text()

    assert re.search(r"^listwise +1 +1 ", _shell(own, path, tmp_path), re.MULTILINE)
    assert "48 groups (0 failed, 0 partly)" in _shell(sample, path, tmp_path)

    texts = re.findall(r'"((?:Because|No|Air|It)[^"]*\.)"', judged)
    judge = rb.SimulatedJudge(qualities={text: float(len(text)) for text in texts})
    with rb.JudgeServer(judge) as server:
        assert ENDPOINT in judged
        shown = _shell(judged.replace(ENDPOINT, server.url), path, tmp_path)
    assert "queries with new rubrics: 1, failed: 0" in shown
    assert "2 groups (0 failed, 0 partly)" in shown
    assert [row["rewards"] for row in rows(tmp_path / "scored.jsonl")] == [[1, -1], [1, -1]]


def test_what_it_says_of_tokens(tmp_path: Path) -> None:
    """The prompt tokens of a ladder against all pairs, on the sample."""
    (calls, pairs, above, cap, below) = re.search(  # type: ignore[union-attr]
        r"24 epochs\) it takes ([\d.]+) calls a group against (\d+) for all pairs, but from\n"
        r"the fifth epoch ([\d.]+) times their prompt tokens; with `max_anchors=(\d+)`, ([\d.]+)",
        README,
    ).groups()
    options = tmp_path / "options.json"
    options.write_text(
        json.dumps(
            {
                "free": {"method": "rankbuffer"},
                "capped": {"method": "rankbuffer", "max_anchors": int(cap)},
                "pairwise": {},
            }
        )
    )
    arguments = ["compare", "--data", "sample", "--epochs", "24", "--sim"]
    out = tmp_path / "out"
    assert main([*arguments, "--method-options", str(options), "--out", str(out)]) == 0
    late, asked = Counter[str](), Counter[str]()
    for row in rows(out / "groups.jsonl"):
        asked[row["method"]] += sum(row["calls"].values())
        late[row["method"]] += row["tokens"]["prompt"] * (row["epoch"] >= 4)
    groups = 24 * 12
    assert (f"{asked['free'] / groups:.1f}", asked["pairwise"] / groups) == (calls, int(pairs))
    assert f"{late['free'] / late['pairwise']:.1f}" == above
    assert f"{late['capped'] / late['pairwise']:.1f}" == below


def test_what_the_text_names_exists(capsys: pytest.CaptureFixture[str], path: str) -> None:
    named = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", README, flags=re.M | re.S))
    for code in named:
        words = code.split()
        if words[0] == "make":
            _shell(f"make --dry-run {words[1]}", path, ROOT)
        elif words[0] == "rankbuffer" and words[1:2] not in ([], ["COMMAND"]):
            assert main([words[1], "--help"]) == 0
            shown = capsys.readouterr().out
            assert all(word in shown for word in words if word.startswith("--"))
        elif words[0].startswith("--"):
            assert main(["compare", "--help"]) == 0
            assert code in capsys.readouterr().out
    assert "pip install ." in named
    assert list((ROOT / "tests" / "wheel").glob("test_*.py"))
    capsys.readouterr()


def _table(head: str) -> list[list[str]]:
    """The rows of the table that begins with a head."""
    (table,) = re.findall(rf"^\| {head} \|.*\n\| ---.*\n((?:\|.*\n)+)", README, re.MULTILINE)
    return [[cell.strip(" `") for cell in row.split("|")[1:-1]] for row in table.splitlines()]


def test_the_table_of_statuses_is_complete() -> None:
    statuses = [row[0] for row in _table("status")]
    assert sorted(statuses) == sorted(rb.Status.__args__)  # type: ignore[attr-defined]


def test_the_table_of_methods_is_that_of_the_command() -> None:
    assert {row[0]: row[1] for row in _table("name")} == CALLS


def test_the_options_it_names_exist() -> None:
    names = re.findall(r"`(\w+)=", README)
    known = {
        field
        for one in (rb.Judge, rb.ScorerConfig, *rb.METHODS.values())
        for field in one.__dataclass_fields__
    } | set(rb.Scorer.score_group.__annotations__)
    assert names
    assert set(names) <= known
