"""The stock verl stack on CPU. Run by `make test-verl`, which installs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

os.environ.update(
    RAY_AUTH_MODE="disabled",
    HF_HUB_OFFLINE="1",
    TOKENIZERS_PARALLELISM="false",
    RAY_ENABLE_UV_RUN_RUNTIME_ENV="0",
    PYTHONPATH=os.pathsep.join(
        [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    ),
)

# Elsewhere these tests are left out; tests/verl/unit/test_without_verl.py says so.
with_verl = find_spec("verl") is not None and find_spec("ray") is not None
collect_ignore_glob = [] if with_verl else ["test_*.py"]

REPLAY = Path(__file__).parents[4] / "shared" / "data" / "replay_dev.jsonl.gz"
QUERIES, EPOCHS, GROUP, MAX_BYTES = 14, 3, 8, 1500


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says so where the tests ran on less than they are meant to."""
    if REPLAY.exists() or collect_ignore_glob:
        return
    terminalreporter.section("replay data missing", red=True, bold=True)
    terminalreporter.write_line(
        f"{REPLAY} is not there: the tests ran on the sample of the package instead, "
        "whose few queries show less."
    )


@pytest.fixture(scope="session")
def tokenizer_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from bytetok import make

    return make(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="session")
def tokenizer(tokenizer_dir: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tokenizer_dir)


@pytest.fixture(scope="session")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A part of the replay data: short texts, so that bytes as tokens stay few."""
    import gzip

    kept = []
    source = REPLAY if REPLAY.exists() else None
    if source is None:
        from rankbuffer.replay import SAMPLE

        lines = SAMPLE.read_text(encoding="utf-8").splitlines()
    else:
        lines = gzip.decompress(source.read_bytes()).decode().splitlines()
    for line in lines:
        query = json.loads(line)
        rollouts = [
            r for epoch in query["epochs"] for r in epoch
        ]  # the sample's groups are smaller
        query["epochs"] = [rollouts[GROUP * e : GROUP * (e + 1)] for e in range(EPOCHS)]
        texts = [r["text"] for e in query["epochs"] for r in e]
        asked = query["query"]
        short = isinstance(asked, str) and len(asked) < 300
        if short and max(len(t.encode()) for t in texts) <= MAX_BYTES:
            kept.append(json.dumps(query))
    path = tmp_path_factory.mktemp("replay") / "replay.jsonl"
    path.write_text("\n".join(kept[:QUERIES]) + "\n")
    return path


@pytest.fixture(scope="session")
def queries(replay: Path) -> list[Any]:
    from rankbuffer.replay import read_replay

    return read_replay(replay)


@pytest.fixture(scope="session")
def qualities(queries: list[Any]) -> dict[str, float]:
    from rankbuffer.replay import qualities

    return qualities(queries)


@pytest.fixture(scope="session")
def judge_url(qualities: dict[str, float]) -> Iterator[str]:
    """`judge-sim` over HTTP, without noise."""
    import rankbuffer as rb

    with rb.JudgeServer(rb.SimulatedJudge(qualities=qualities)) as server:
        yield server.url


@pytest.fixture(scope="session")
def compared(replay: Path, judge_url: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What `rankbuffer compare` makes of the same groups: rewards by text, and buffers."""
    out = tmp_path_factory.mktemp("compared") / "out"
    command = [sys.executable, "-m", "rankbuffer", "compare", "--data", str(replay)]
    command += ["--methods", "rankbuffer", "--base-url", judge_url, "--model", "simulated"]
    subprocess.run([*command, "--out", str(out)], check=True, capture_output=True, text=True)
    rewards: dict[tuple[str, int], list[float]] = {}
    anchors: dict[str, list[str]] = {}
    for line in (out / "groups.jsonl").read_text().splitlines():
        group = json.loads(line)
        rewards[group["query_id"], group["epoch"]] = group["rewards"]
        anchors[group["query_id"]] = group["anchor_texts"]
    return rewards, anchors


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    import ray
    from stack import ray_start

    ray_start()
    yield
    ray.shutdown()
