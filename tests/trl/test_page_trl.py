"""Every block of the page on TRL is run."""

from __future__ import annotations

import json
from pathlib import Path

import pages
import pytest

import rankbuffer as rb

pytest.importorskip("trl")


def test_trl_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from training import WORDS, model

    (code,) = pages.blocks("python/rankbuffer/trl/README.md", "python")
    directory = model(tmp_path / "model")
    rows = [{"prompt": f"{WORDS[i]} {WORDS[i + 1]}"} for i in range(16)]
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    code = code.replace('"my-model"', repr(str(directory)))
    small = "use_cpu=True, max_steps=1, max_completion_length=1, bf16=False, report_to=[]"
    code = code.replace("num_generations=8)", f"num_generations=8, {small})")
    judge = rb.SimulatedJudge(qualities={text: float(i) for i, text in enumerate(WORDS)})
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with rb.JudgeServer(judge) as server:
        assert pages.ENDPOINT in code
        pages.python(code.replace(pages.ENDPOINT, server.url), tmp_path, warnings="ignore")
