"""An owner by itself: side files, and what it tells."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import world

from rankbuffer.errors import InputError
from rankbuffer.verl.owner import Owner
from rankbuffer.verl.queries import QueryData
from rankbuffer.verl.tracker import Resume


def owner(tmp_path: Path, side: str | None = None) -> Owner:
    plan = world.plan()
    settings = dataclasses.replace(plan.settings, side_file=side)
    return Owner(dataclasses.replace(plan, settings=settings), tmp_path, Resume(), "run")


def bare(text: str, slot: str) -> Any:
    """A rollout whose row has no ranked responses."""
    query = QueryData(query_id="q", prompt="about q")
    return world.rollout(text, slot=slot).with_query(query)


def test_ranked_responses_come_from_the_side_file(tmp_path: Path) -> None:
    side = tmp_path / "side.jsonl"
    side.write_text(json.dumps({"query_id": "q", "ranked": world.RANKED}) + "\n")

    async def go() -> tuple[Any, Any]:
        made = owner(tmp_path, str(side))
        texts = ["t90", "t50", "t30", "t10"]
        await asyncio.gather(*(made.score(bare(t, f"s{i}")) for i, t in enumerate(texts)))
        found = made.buffer("q"), made.stats()
        await made.close()
        return found

    buffer, stats = asyncio.run(go())
    assert {a["text"] for a in buffer["anchors"] if a["source"] == "ranked"} == set(world.RANKED)
    assert stats["journal"]["entries"] == 1
    assert (stats["groups_open"], stats["mark"]) == (0, 0)


def test_a_side_file_that_is_none(tmp_path: Path) -> None:
    side = tmp_path / "side.jsonl"
    side.write_text("{}\n")
    with pytest.raises(InputError, match=r"side\.jsonl:1: query_id"):
        owner(tmp_path, str(side))


def test_an_unknown_query_has_no_buffer(tmp_path: Path) -> None:
    async def go() -> Any:
        made = owner(tmp_path)
        found = made.buffer("unknown")
        await made.close()
        return found

    assert asyncio.run(go()) is None
