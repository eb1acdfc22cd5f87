"""Every registered method, selected by configuration and run through the reward loop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from stack import config, extra_info, judge, padded

from rankbuffer.methods import METHODS
from rankbuffer.verl.rollout_reward import KEYS


@pytest.mark.parametrize("method", METHODS)
def test_method(
    method: str,
    queries: list[Any],
    judge_url: str,
    tokenizer_dir: Path,
    tokenizer: Any,
    tmp_path: Path,
) -> None:
    from verl.experimental.reward_loop.reward_loop import RewardLoopWorker

    chosen = [f"+reward.rankbuffer.method.name={method}"]
    worker = RewardLoopWorker(config(tokenizer_dir, tmp_path, [*judge(judge_url), *chosen]))
    query = queries[0]
    info = {
        **extra_info(query),
        "rubrics": [{"text": "It is right.", "weight": 3}, {"text": "It is brief.", "weight": 1}],
        "reference": query.ranked[3].text,
    }
    texts = [r.text for r in query.epochs[0]]
    data = padded(
        [{"query": query, "text": t, "uid": "u", "extra_info": info} for t in texts], tokenizer
    )
    try:
        outputs = asyncio.run(worker.compute_score_batch(data))
    finally:
        asyncio.run(worker.reward_manager.owner.close())

    assert {tuple(o["reward_extra_info"]) for o in outputs} == {KEYS}
    assert {o["reward_extra_info"]["rb_status"] for o in outputs} == {0}
    assert {o["reward_extra_info"]["rb_group_status"] for o in outputs} == {0}
    assert len({o["reward_score"] for o in outputs}) > 1
    best = max(range(len(texts)), key=lambda i: query.epochs[0][i].quality)
    worst = min(range(len(texts)), key=lambda i: query.epochs[0][i].quality)
    assert outputs[best]["reward_score"] >= outputs[worst]["reward_score"]
