"""Both trainers' loops, one worker or several: the rewards and buffers of `rankbuffer compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stack import IMPORTLIB, Loop, StubLLM, buffers, config, judge

from rankbuffer.verl.rollout_reward import KEYS

CASES = {
    "register-1": [],
    "importlib-2": [*IMPORTLIB, "reward.num_workers=2"],
    "register-4": ["reward.num_workers=4", "+reward.rankbuffer.rendezvous.owners=2"],
}


@pytest.mark.parametrize("case", CASES)
def test_rewards_and_buffers_are_those_of_compare(
    case: str,
    cluster: None,
    queries: list[Any],
    compared: Any,
    judge_url: str,
    tokenizer_dir: Path,
    tokenizer: Any,
    tmp_path: Path,
) -> None:
    rewards, anchors = compared
    cfg = config(tokenizer_dir, tmp_path, [*judge(judge_url), *CASES[case]])
    loop = Loop(cfg, StubLLM(queries, tokenizer_dir), tokenizer)
    third = len(queries) // 3
    newer, older, batch = queries[:third], queries[third : 2 * third], queries[2 * third :]
    try:
        for epoch in range(len(queries[0].epochs)):
            scored, status = loop.v1(newer, step=epoch + 1)
            assert set(status.values()) == {"finished"}
            scored += loop.v0(older)
            rows = [
                {"query": q, "text": r.text, "uid": f"{q.query_id}-{epoch}"}
                for q in batch
                for r in q.epochs[epoch]
            ]
            # One row more: verl pads with the first rows, which belong to a group again.
            more = {"query": batch[0], "text": rows[0]["text"], "uid": "v", "split": "test"}
            scored += loop.batch([*rows, more])[:-1]
            assert len(scored) == 8 * len(queries)
            got: dict[str, float] = {}
            for one in scored:
                assert tuple(one.extra) == KEYS
                assert one.extra["rb_status"] == one.extra["rb_group_status"] == 0
                got[one.text] = one.reward
            for q in queries:
                texts = [r.text for r in q.epochs[epoch]]
                want = pytest.approx(rewards[q.query_id, epoch], abs=1e-6)
                assert [got[text] for text in texts] == want, q.query_id
        found = buffers(loop, [q.query_id for q in queries])
        assert {i: [a["text"] for a in b["anchors"]] for i, b in found.items()} == anchors

        # Validation: other numbers, no change.
        scored, _ = loop.v1(newer[:2], step=9, split="test")
        scored += loop.v0(older[:1], split="test")
        assert len(scored) == 2 + 8
        for one in scored:
            assert tuple(one.extra) == KEYS
            assert one.extra["rb_status"] == 0
            assert -1 <= one.reward <= 1
        assert buffers(loop, [q.query_id for q in queries]) == found

        # Rows of a colocated reward model name no group and no query.
        texts = [r.text for r in queries[0].epochs[0]]
        nameless = [{"query": queries[0], "text": t, "extra_info": None} for t in texts]
        scored = loop.batch(nameless)
        assert {one.extra["rb_group_status"] for one in scored} == {0}
        want = pytest.approx([-1 + 2 * i / 7 for i in range(8)])
        assert sorted(one.reward for one in scored) == want
    finally:
        loop.close()
