"""Every block of the command line's page is run."""

from __future__ import annotations

import re
from pathlib import Path

import pages
from cli_tools import rows

import rankbuffer as rb


def test_shell_blocks(tmp_path: Path) -> None:
    path = pages.shim(tmp_path)
    compared, own, sample, judged = pages.blocks("python/rankbuffer/cli/README.md", "sh")
    shown = pages.shell(compared, path, tmp_path)
    for method in ("rankbuffer", "pairwise", "pointwise"):
        assert re.search(rf"^{method} +48 ", shown, re.MULTILINE)
    assert re.search(r"^ +\d+  ranked ", shown, re.MULTILINE)
    assert "<svg" in (tmp_path / "results" / "report.html").read_text()

    assert re.search(r"^listwise +1 +1 ", pages.shell(own, path, tmp_path), re.MULTILINE)
    assert "48 groups (0 failed, 0 partly)" in pages.shell(sample, path, tmp_path)

    texts = re.findall(r'"((?:Because|No|Air|It)[^"]*\.)"', judged)
    judge = rb.SimulatedJudge(qualities={text: float(len(text)) for text in texts})
    with rb.JudgeServer(judge) as server:
        assert pages.ENDPOINT in judged
        shown = pages.shell(judged.replace(pages.ENDPOINT, server.url), path, tmp_path)
    assert "queries with new rubrics: 1, failed: 0" in shown
    assert "2 groups (0 failed, 0 partly)" in shown
    assert [row["rewards"] for row in rows(tmp_path / "scored.jsonl")] == [[1, -1], [1, -1]]
