"""Every block of the page on TRL is run, and its tables are complete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pages
import pytest
from known_world import NUMBERED_RANKED

import rankbuffer as rb
from rankbuffer.trl import RewardFunction
from rankbuffer.trl.rows import COLUMNS

PAGE = "python/rankbuffer/trl/README.md"


def test_its_tables_are_complete(scorer: rb.Scorer) -> None:
    logged: dict[str, float] = {}
    columns: dict[str, Any] = {"ranked": [NUMBERED_RANKED] * 2}
    reward = RewardFunction(scorer, group_size=2)
    reward(["A", "A"], ["t90", "t10"], log_metric=logged.__setitem__, **columns)
    assert {f"rankbuffer/{name}" for name, _ in pages.table(PAGE, "metric")} == set(logged)
    assert {name for name, _ in pages.table(PAGE, "column")} == set(COLUMNS)


def test_trl_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trl")
    from training import WORDS, model

    (code,) = pages.blocks(PAGE, "python")
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
