"""``rankbuffer inspect`` of the buffers beside a model: a directory of shards."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import world
from trainee import QUERIES, Run

from rankbuffer.cli.main import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    async def train() -> None:
        run = Run(tmp_path, world.run_config(), 3)
        await run.train(2)
        await run.close()

    asyncio.run(train())
    return tmp_path / "global_step_2" / "rankbuffer"


def as_json(capsys: Capture, *arguments: str) -> Any:
    assert main(["inspect", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_all_shards_are_listed_as_one(directory: Path, capsys: Capture) -> None:
    assert main(["inspect", str(directory)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{len(QUERIES)} queries (")
    assert all(query in shown for query in QUERIES)
    found = as_json(capsys, str(directory))
    assert [q["query_id"] for q in found["queries"]] == QUERIES
    assert found["meta"]["method"] == "rankbuffer"
    assert as_json(capsys, str(directory.parent)) == found  # global_step_N itself


def test_a_query_is_found_in_whichever_shard_it_is(directory: Path, capsys: Capture) -> None:
    listed = as_json(capsys, str(directory))["queries"]
    assert [as_json(capsys, str(directory), "--query-id", q) for q in QUERIES] == listed
    assert main(["inspect", str(directory), "--query-id", QUERIES[3]]) == 0
    assert f"about {QUERIES[3]}" in capsys.readouterr().out
    assert main(["inspect", str(directory), "--query-id", "nobody"]) == 2
    assert "nobody" in capsys.readouterr().err


def test_other_directories_are_told_apart(directory: Path, capsys: Capture) -> None:
    assert main(["inspect", str(directory.parents[1])]) == 2
    told = capsys.readouterr().err
    assert "no MANIFEST.json" in told
    assert "global_step_N/rankbuffer" in told
    (directory / "shard-1-of-3.zst").unlink()
    assert main(["inspect", str(directory)]) == 2
    assert "shard-1-of-3.zst is missing" in capsys.readouterr().err
    (directory / "MANIFEST.json").write_text('{"format": 1, "shards": []}')
    assert main(["inspect", str(directory)]) == 2
    assert "no MANIFEST.json that names" in capsys.readouterr().err
