"""kill -9 of the driver, again and again: each resume has the buffers of the step it resumes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rankbuffer as rb
from rankbuffer.verl.files.beside_model import shards_of
from rankbuffer.verl.files.trainer_checkpoints import step_directories

# How each life ends, and how many workers and owners it has.
LIVES = [
    ("between", 0.0, 1, 1),
    ("step", 0.05, 2, 2),
    ("snapshot", 0.0, 1, 1),
    ("step", 0.0, 2, 1),
    ("snapshot", 0.02, 2, 2),
    ("", 0.0, 1, 1),
]
QUERIES, END = 4, 10


def truth(queries: list[Any], url: str) -> dict[int, dict[str, Any]]:
    """The buffers after every step of a run that nobody interrupts."""
    states: dict[int, dict[str, Any]] = {0: {q.query_id: None for q in queries}}
    with rb.Scorer(judge=rb.Judge(base_url=url, model="simulated")) as scorer:
        for step in range(1, END + 1):
            for q in queries:
                scorer.score_group(
                    q.query_id,
                    [r.text for r in q.epochs[step % len(q.epochs)]],
                    query=q.query,
                    ranked=[r.text for r in q.ranked],
                    step=step,
                )
            states[step] = {q.query_id: scorer.buffer(q.query_id).raw for q in queries}
    return states


@pytest.mark.timeout(900)
def test_the_driver_is_killed_again_and_again(
    queries: list[Any], replay: Path, judge_url: str, tokenizer_dir: Path, tmp_path: Path
) -> None:
    states = truth(queries[:QUERIES], judge_url)
    resumed = []
    for kill, after, workers, owners in LIVES:
        options = {
            "root": str(tmp_path / "checkpoints"),
            "replay": str(replay),
            "judge_url": judge_url,
            "tokenizer": str(tokenizer_dir),
            "queries": QUERIES,
            "until": END,
            "kill": kill,
            "after": after,
            "workers": workers,
            "owners": owners,
        }
        done = subprocess.run(
            [
                sys.executable,
                "-W",
                "ignore",
                str(Path(__file__).parent / "driver.py"),
                json.dumps(options),
            ],
            stdout=subprocess.PIPE,
            text=True,
            timeout=300,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        resumed.append(lines[0]["resumed"])
        assert lines[0]["buffers"] == states[lines[0]["resumed"]], (kill, resumed)
        if kill:
            assert done.returncode == -signal.SIGKILL
        else:
            assert lines[-1]["done"] == END
            assert lines[-1]["buffers"] == states[END]
    print("resumed steps:", resumed)
    assert resumed == sorted(resumed)
    assert resumed[0] == 0 < resumed[1] < resumed[-1]
    root = tmp_path / "checkpoints"
    for step, directory in sorted(step_directories(root).items()):
        shards = shards_of(directory / "rankbuffer")
        assert shards, f"step {step} has no buffers"
        assert beside(shards) == {k: v for k, v in states[step].items() if v}
    assert sorted(step_directories(root)) == [2, 4, 6, 8, 10]
    assert [p for p in root.rglob("*") if p.name.endswith((".tmp", ".old"))] == []
    assert len(list((root / "rankbuffer").iterdir())) == 1


def beside(shards: list[Path]) -> dict[str, Any]:
    """The buffers in a checkpoint, by query."""
    return {q["query_id"]: q for shard in shards for q in rb.inspect(shard)["queries"]}
