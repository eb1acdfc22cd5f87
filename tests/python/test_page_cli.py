"""Every block of the command line's page is run, and its tables are complete."""

from __future__ import annotations

import re
from pathlib import Path

import pages
import pytest
from cli_tools import rows

import rankbuffer as rb
from rankbuffer.cli import main

PAGE = "python/rankbuffer/cli/README.md"


def test_shell_blocks(tmp_path: Path) -> None:
    path = pages.shim(tmp_path)
    shown, served, judged, sample, compared, own = pages.blocks(PAGE, "sh")
    said = pages.shell(shown, path, tmp_path)
    assert "All 12 queries of the sample" in said
    assert "max_anchors = null" in said

    assert "48 groups (0 failed, 0 partly)" in pages.shell(served, path, tmp_path)

    texts = re.findall(r'"((?:Because|No|Air|It)[^"]*\.)"', judged)
    judge = rb.SimulatedJudge(qualities={text: float(len(text)) for text in texts})
    with rb.JudgeServer(judge) as server:
        assert pages.ENDPOINT in judged
        said = pages.shell(judged.replace(pages.ENDPOINT, server.url), path, tmp_path)
    assert "queries with new rubrics: 1, failed: 0" in said
    assert "2 groups (0 failed, 0 partly)" in said
    assert [row["rewards"] for row in rows(tmp_path / "scored.jsonl")] == [[1, -1], [1, -1]]

    assert "48 groups (0 failed, 0 partly)" in pages.shell(sample, path, tmp_path)

    said = pages.shell(compared, path, tmp_path)
    for method in ("rankbuffer", "pairwise", "pointwise"):
        assert re.search(rf"^{method} +48 ", said, re.MULTILINE)
    assert re.search(r"^ +\d+  ranked ", said, re.MULTILINE)
    assert "<svg" in (tmp_path / "results" / "report.html").read_text()
    files = {row[0].rstrip("/") for row in pages.table(PAGE, "file")}
    assert files == {f.name for f in (tmp_path / "results").iterdir() if f.name != ".lock"}

    said = pages.shell(own, path, tmp_path)
    for label in ("small", "listwise"):
        assert re.search(rf"^{label} +1 ", said, re.MULTILINE)


def test_it_knows_every_command_and_names_options_that_exist(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--help"]) == 0
    commands = re.findall(r"^    ([a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    assert [row[0] for row in pages.table(PAGE, "command")] == commands
    known = set()
    for command in commands:
        assert main([command, "--help"]) == 0
        known |= set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out))
    named = set(re.findall(r"(?<=[ `])--[a-z][a-z-]+", pages.text(PAGE)))
    assert "--retry-failed" in named
    assert named <= known
