"""Real GRPO steps of TRL, in one process and in two that share each group."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import rankbuffer as rb

pytest.importorskip("trl")

GROUP, STEPS = 4, 2


def train(out: Path, kind: str, processes: int, resume: bool = False) -> dict[str, Any]:
    script = [str(Path(__file__).parent / "training.py"), str(out), kind]
    script.append("resume" if resume else "start")
    launch = ["-m", "torch.distributed.run", f"--nproc_per_node={processes}"]
    launch += ["--master_port=29513"]
    command = [sys.executable, "-W", "ignore", *(launch if processes > 1 else []), *script]
    done = subprocess.run(
        command,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    parts = [json.loads((out / f"seen-{rank}.json").read_text()) for rank in range(processes)]
    return {"seen": [row for part in parts for row in part["seen"]], "buffers": parts[0]["buffers"]}


def expected(texts: list[str]) -> list[float]:
    """The rewards of an exact judge: ranks in the group, ties averaged, empty ones last."""
    quality = [float(t[1:]) if t else -1.0 for t in texts]
    out = []
    for text, q in zip(texts, quality, strict=True):
        below, same = sum(x < q for x in quality), sum(x == q for x in quality)
        rank = below + (same - 1) / 2 if text else 0
        out.append(-1 + 2 * rank / (len(texts) - 1))
    return out


@pytest.mark.parametrize(("kind", "processes"), [("sync", 1), ("async", 1), ("sync", 2)])
def test_two_steps(kind: str, processes: int, tmp_path: Path) -> None:
    found = train(tmp_path, kind, processes)
    groups = defaultdict(list)
    for step, query_id, text, reward in found["seen"]:
        groups[step, query_id].append((text, reward))
    assert len(groups) == STEPS * 2
    for members in groups.values():
        assert len(members) == GROUP, "a group was split"
        texts = [text for text, _ in members]
        assert [reward for _, reward in members] == pytest.approx(expected(texts)), texts
    trained = [b for b in found["buffers"].values() if b is not None]
    assert len(trained) == len({query_id for _, query_id in groups})
    saved = rb.inspect(tmp_path / "run" / f"checkpoint-{STEPS}" / "rankbuffer.zst")
    assert {q["query_id"]: q for q in saved["queries"]} == {
        q: b for q, b in found["buffers"].items() if b is not None
    }


def test_a_run_that_is_resumed(tmp_path: Path) -> None:
    first = train(tmp_path, "sync", 1)
    second = train(tmp_path, "sync", 1, resume=True)
    assert min(step for step, *_ in second["seen"]) == STEPS
    for query_id, buffer in first["buffers"].items():
        if buffer is not None:
            now = second["buffers"][query_id]
            assert len(now["epochs_seen"]) >= len(buffer["epochs_seen"])
            assert {a["text"] for a in buffer["anchors"]} <= {a["text"] for a in now["anchors"]}
