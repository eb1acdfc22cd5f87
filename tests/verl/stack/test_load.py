"""Many rollouts at once, and how long the last of a group waits."""

from __future__ import annotations

import asyncio
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
import ray
from stack import Loop, StubLLM, config, judge, row, send

import rankbuffer as rb

IN_FLIGHT, SIBLINGS, REPETITIONS = 2000, 16, 7
SLACK_MIB = 8.0  # an arena of the allocator's


def usage(pid: int) -> tuple[float, int]:
    """Resident MiB and open descriptors of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20, len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _pid(worker: Any) -> int:
    return os.getpid()


def texts_of(query: Any) -> list[str]:
    return [r.text for epoch in query.epochs for r in epoch]


def test_2000_rollouts_in_flight(
    cluster: None,
    queries: list[Any],
    judge_url: str,
    tokenizer_dir: Path,
    tokenizer: Any,
    tmp_path: Path,
) -> None:
    overrides = [
        *judge(judge_url, max_concurrency=32),  # as many connections stay open
        "reward.num_workers=4",
        "data.train_batch_size=125",
        "+reward.rankbuffer.method.max_anchors=10",
    ]
    cfg = config(tokenizer_dir, tmp_path, overrides, n=SIBLINGS)
    loop = Loop(cfg, StubLLM(queries, tokenizer_dir), tokenizer)
    rng = random.Random(3)
    try:
        pids = ray.get([w.__ray_call__.remote(_pid) for w in loop.workers()])
        pids += [ray.get(o.stats.remote())["pid"] for o in loop.owners()]
        seen = []
        for repetition in range(REPETITIONS):
            rows = []
            for g in range(IN_FLIGHT // SIBLINGS):
                query = queries[g % len(queries)]
                for i, text in enumerate(rng.sample(texts_of(query), SIBLINGS)):
                    columns = {"uid": f"{repetition}-{g}", "session_id": i}
                    rows.append(row(query, text, tokenizer, global_steps=repetition + 1, **columns))
            rng.shuffle(rows)
            began = time.monotonic()
            outputs = ray.get(send(loop.workers(), rows), timeout=300)
            seconds = time.monotonic() - began
            assert len(outputs) == IN_FLIGHT
            assert {o["reward_extra_info"]["rb_group_status"] for o in outputs} == {0}
            assert {o["reward_extra_info"]["rb_status"] for o in outputs} == {0}
            del outputs, rows
            time.sleep(2)  # the owner gives back the memory of the calls that have ended
            seen.append([usage(pid) for pid in pids])
            print(f"{IN_FLIGHT} rollouts in {seconds:.1f} s; MiB and descriptors: ", end="")
            print(", ".join(f"{mib:.0f} {files}" for mib, files in seen[-1]))
        # What an allocator has not given back yet comes on top, so the least counts.
        for process in range(len(pids)):  # the owner is the last
            early = [min(kind) for kind in zip(*(s[process] for s in seen[1:4]), strict=True)]
            late = [min(kind) for kind in zip(*(s[process] for s in seen[4:]), strict=True)]
            assert late[0] <= max(1.05 * early[0], early[0] + SLACK_MIB), "memory grows"
            assert late[1] <= 1.05 * early[1], "descriptors grow"
    finally:
        loop.close()


def test_1100_siblings(
    cluster: None,
    queries: list[Any],
    judge_url: str,
    tokenizer_dir: Path,
    tokenizer: Any,
    tmp_path: Path,
) -> None:
    """More than one worker may be asked for at once; they meet in the owner."""
    few = ["reward.num_workers=1", "data.train_batch_size=1"]
    from rankbuffer.errors import ConfigError
    from rankbuffer.verl.manager import read_config

    cfg = config(tokenizer_dir, tmp_path, [*judge(judge_url), *few], n=1100)
    with pytest.raises(ConfigError, match=r"reward\.num_workers=2"):
        read_config(cfg)
    enough = ["reward.num_workers=2", "data.train_batch_size=1"]
    cfg = config(tokenizer_dir, tmp_path, [*judge(judge_url), *enough], n=1100)
    loop = Loop(cfg, StubLLM(queries, tokenizer_dir), tokenizer)
    try:
        pool = texts_of(queries[0])
        rows = [
            row(queries[0], pool[i % 24], tokenizer, uid="u", session_id=i, global_steps=1)
            for i in range(1100)
        ]
        outputs = ray.get(send(loop.workers(), rows), timeout=200)
        assert {o["reward_extra_info"]["rb_group_status"] for o in outputs} == {0}
        assert max(o["reward_extra_info"]["rb_rank"] for o in outputs) > 1000
    finally:
        loop.close()


CALL_S, SPREAD_S = 0.5, 5.0
FROZEN = "+reward.rankbuffer.method.freeze_after_epochs=1"


def shared_interval(queries: list[Any], qualities: dict[str, float]) -> tuple[Any, list[str]]:
    """A query, and a group of it whose last response needs a fine call on the frozen buffer.

    One or two fine calls in all: the judge takes two at a time.
    """
    method = rb.RankBuffer(freeze_after_epochs=1)
    for query in queries:
        texts = [r.text for r in query.epochs[0]]
        with rb.Scorer(judge=rb.SimulatedJudge(qualities=qualities), method=method) as scorer:
            ranked = [r.text for r in query.ranked]
            scorer.score_group(query.query_id, texts, query=query.query, ranked=ranked)
            positions = scorer.score_group(query.query_id, texts).positions
        shared = [i for i, at in enumerate(positions) if positions.count(at) > 1]
        if 1 <= len({positions[i] for i in shared}) <= 2:
            texts.append(texts.pop(shared[-1]))
            return query, texts
    raise AssertionError("no two responses share an interval")


def test_rewards_come_right_after_the_last_arrival(
    queries: list[Any],
    qualities: dict[str, float],
    tokenizer_dir: Path,
    tokenizer: Any,
    tmp_path: Path,
) -> None:
    """Rollouts over 5 s, 500 ms a call: what came before is judged before the last comes."""
    from verl.experimental.reward_loop.reward_loop import RewardLoopWorker

    query, texts = shared_interval(queries, qualities)

    async def wait_after_last(worker: Any, uid: str, over: float) -> float:
        tasks, last = [], 0.0
        for i, text in enumerate(texts):
            one = row(query, text, tokenizer, uid=uid, session_id=i, global_steps=1)
            tasks.append(asyncio.create_task(worker.compute_score(one)))
            last = time.monotonic()
            await asyncio.sleep(over / (len(texts) - 1) if i < len(texts) - 1 else 0)
        extra = [output["reward_extra_info"] for output in await asyncio.gather(*tasks)]
        seconds = time.monotonic() - last
        positions = [e["rb_position"] for e in extra]
        fine = sum(positions.count(at) > 1 for at in set(positions))
        assert sum(e["rb_calls"] for e in extra) == pytest.approx(len(texts) + fine)
        if uid != "first":
            assert positions.count(positions[-1]) > 1, "the last one needs a fine call"
        return seconds

    async def measure(worker: Any) -> tuple[float, float]:
        await wait_after_last(worker, "first", 0.0)  # then the buffer stays as it is
        tries = [await wait_after_last(worker, f"overlap-{i}", SPREAD_S) for i in range(2)]
        bare = await wait_after_last(worker, "at-once", 0.0)
        await worker.reward_manager.owner.close()
        return min(tries), bare

    latency = rb.SimulatedJudge(qualities=qualities, latency_ms=CALL_S * 1000)
    with rb.JudgeServer(latency) as server:
        # Two calls at a time: a judge that is busy, as judges are.
        given = [*judge(server.url, max_concurrency=2), FROZEN]
        worker = RewardLoopWorker(config(tokenizer_dir, tmp_path, given))
        overlapped, bare = asyncio.run(measure(worker))
    wanted = 2 * CALL_S  # one coarse and one fine call
    print(f"after the last arrival: {overlapped / wanted:.3f} x (coarse + fine), ", end="")
    print(f"{bare / wanted:.3f} x when all come at once")
    assert 0.95 * wanted <= overlapped <= 1.1 * wanted
    # Two by two, all coarse calls come before the last fine one.
    assert bare >= 0.95 * (len(texts) / 2 + 1) * CALL_S
