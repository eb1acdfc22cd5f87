"""What goes wrong in a run: siblings, judges, owners and workers that fail. The run goes on."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from proxy import Proxy
from stack import Loop, StubLLM, buffers, config, judge, row, send

import rankbuffer as rb
from rankbuffer.verl.actors.remote_owners import shard_of
from rankbuffer.verl.rollout_reward import GROUP_STATUS, KEYS, STATUS

N = 8


@pytest.fixture(scope="module")
def proxy(judge_url: str) -> Iterator[Proxy]:
    with Proxy(judge_url) as made:
        yield made


@pytest.fixture
def loop(
    cluster: None,
    queries: list[Any],
    proxy: Proxy,
    tokenizer_dir: Path,
    tokenizer: Any,
    tmp_path: Path,
) -> Iterator[Loop]:
    overrides = [
        *judge(proxy.url, max_retries=1),
        "reward.num_workers=2",
        "+reward.rankbuffer.rendezvous.owners=2",
        "+reward.rankbuffer.rendezvous.deadline_s=4",
    ]
    llm = StubLLM(queries, tokenizer_dir, script)
    made = Loop(config(tokenizer_dir, tmp_path, overrides), llm, tokenizer)
    yield made
    proxy.down = False
    proxy.let_go()
    made.close()


def script(query_id: str, epoch: int, index: int) -> float:
    """The agent loop of one rollout fails in the first epoch of every query."""
    if epoch == 0 and index == 3:
        raise RuntimeError("the agent loop of this rollout fails")
    return 0.0


def group(loop: Loop, query: Any, epoch: int, uid: str, **columns: Any) -> list[Any]:
    """One group's rows, sent to the workers in turn."""
    rows = [
        row(query, r.text, loop.tokenizer, uid=uid, session_id=i, global_steps=epoch + 1, **columns)
        for i, r in enumerate(query.epochs[epoch % len(query.epochs)])
    ]
    return send(loop.workers(), rows)


def numbers(outputs: list[Any]) -> tuple[set[float], set[float]]:
    for output in outputs:
        assert tuple(output["reward_extra_info"]) == KEYS
        assert all(isinstance(v, float) for v in output["reward_extra_info"].values())
    return (
        {o["reward_extra_info"]["rb_status"] for o in outputs},
        {o["reward_extra_info"]["rb_group_status"] for o in outputs},
    )


def reference(applied: dict[str, list[tuple[Any, int]]], url: str) -> dict[str, Any]:
    """The buffers of a run in which only these groups were there."""
    found = {}
    with rb.Scorer(judge=rb.Judge(base_url=url, model="simulated")) as scorer:
        for query_id, groups in applied.items():
            for query, epoch in groups:
                scorer.score_group(
                    query_id,
                    [r.text for r in query.epochs[epoch % len(query.epochs)]],
                    query=query.query,
                    ranked=[r.text for r in query.ranked],
                    step=epoch + 1,
                )
            found[query_id] = scorer.buffer(query_id).raw
    return found


def test_a_judge_that_is_down_for_a_step_and_siblings_that_never_come(
    loop: Loop, queries: list[Any], proxy: Proxy
) -> None:
    some = queries[:4]
    ids = [q.query_id for q in some]
    # One agent loop of each group fails: verl calls the uid a failure, the others have rewards.
    scored, status = loop.v1(some, step=1)
    assert set(status.values()) == {"failure"}
    assert len(scored) == len(some) * (N - 1)
    assert {s.extra["rb_group_status"] for s in scored} == {GROUP_STATUS["partial"]}
    assert {s.extra["rb_status"] for s in scored} == {STATUS["ok"]}
    untouched = buffers(loop, ids)
    assert {a["source"] for b in untouched.values() for a in b["anchors"]} == {"ranked"}

    proxy.down = True
    scored, status = loop.v1(some, step=2)
    assert set(status.values()) == {"finished"}
    assert {s.reward for s in scored} == {0.0}  # equal in each group: no advantage
    assert {s.extra["rb_status"] for s in scored} == {STATUS["judge_failed"]}

    proxy.down = False
    assert buffers(loop, ids) == untouched
    scored, status = loop.v1(some, step=3)
    assert set(status.values()) == {"finished"}
    assert {s.extra["rb_group_status"] for s in scored} == {GROUP_STATUS["ok"]}
    assert buffers(loop, ids) != untouched

    # A query under two uids at once: one after the other, both apply.
    twice = [*group(loop, queries[5], 0, "a"), *group(loop, queries[5], 1, "b")]
    assert numbers(ray.get(twice)) == ({0.0}, {0.0})
    assert buffers(loop, [queries[5].query_id])[queries[5].query_id]["epochs_seen"] == [0, 1]

    # Rows that cannot be scored.
    bad = [
        row(queries[6], "x", loop.tokenizer, uid="c", raw_prompt=None, session_id=0),
        row(queries[6], "x", loop.tokenizer, uid="c", extra_info={"rubrics": 5}, session_id=1),
    ]
    assert numbers(ray.get(send(loop.workers(), bad)))[0] == {STATUS["rejected"]}


def test_an_owner_is_killed(loop: Loop, queries: list[Any], proxy: Proxy) -> None:
    owners = loop.owners()
    mine = {i: [q for q in queries if shard_of(q.query_id, 2) == i] for i in range(2)}
    assert all(len(qs) >= 3 for qs in mine.values())
    applied: dict[str, list[tuple[Any, int]]] = {q.query_id: [] for q in queries}

    def step(epoch: int, kill: Callable[[], None] | None = None) -> dict[str, list[Any]]:
        pid = pid_of(owners[0])
        refs = {q.query_id: group(loop, q, epoch, f"{q.query_id}-{epoch}") for q in queries}
        if kill is not None:
            kill()
            os.kill(pid, signal.SIGKILL)
            proxy.let_go()
        done = {i: ray.get(r, timeout=120) for i, r in refs.items()}
        for q in queries:
            statuses = numbers(done[q.query_id])[1]
            assert len(statuses) == 1, "a group has one fate"
            if statuses == {GROUP_STATUS["ok"]}:
                applied[q.query_id].append((q, epoch))
        return done

    step(0)
    assert all(len(groups) == 1 for groups in applied.values())
    proxy.hold()
    done = step(1, kill=lambda: proxy.until_held(N * len(queries)))
    for q in queries:  # those of the killed owner came together again in its next life
        assert numbers(done[q.query_id]) == ({STATUS["ok"]}, {GROUP_STATUS["ok"]})
    step(2)  # the owner is back, with what it had
    assert [len(applied[q.query_id]) for q in mine[0]] == [3] * len(mine[0])
    # At any moment: while rollouts come, while groups commit, while outcomes go back.
    seed = random.randrange(2**32)
    moments = random.Random(seed)
    for epoch in range(3, 8):
        step(epoch, kill=lambda: time.sleep(moments.uniform(0.0, 0.6)))
        assert all((q, epoch) in applied[q.query_id] for q in queries)
    pid_of(owners[0])
    assert buffers(loop, applied) == reference(applied, proxy.url), f"seed {seed}"


def test_a_call_is_cancelled(loop: Loop, queries: list[Any], proxy: Proxy) -> None:
    """Its rollout had been handed over: the siblings do not feel it."""
    loop.owners()  # all have asked whether the judge is there
    proxy.hold()
    refs = group(loop, queries[0], 0, "u")
    proxy.until_held(N)
    gone, stay = refs[:2], refs[2:]  # one in each worker
    for ref in gone:
        ray.cancel(ref)
    for ref in gone:
        with pytest.raises(ray.exceptions.TaskCancelledError):
            ray.get(ref, timeout=60)
    proxy.let_go()
    assert numbers(ray.get(stay, timeout=60)) == ({STATUS["ok"]}, {GROUP_STATUS["ok"]})
    applied = {queries[0].query_id: [(queries[0], 0)]}
    assert buffers(loop, applied) == reference(applied, proxy.url)


def test_a_reward_worker_is_killed(
    cluster: None,
    queries: list[Any],
    judge_url: str,
    tokenizer_dir: Path,
    tokenizer: Any,
    tmp_path: Path,
) -> None:
    """verl restarts none, and its agent loops keep choosing the dead one at random.

    The default trainer goes on: a rollout for the dead worker fails at once, its
    prompt counts as failed, and its siblings have rewards after the deadline. The
    older trainer's agent loop raises, which ends its run.
    """
    n, deadline = 3, 4
    overrides = [
        *judge(judge_url),
        "reward.num_workers=4",
        f"+reward.rankbuffer.rendezvous.deadline_s={deadline}",
    ]
    cfg = config(tokenizer_dir, tmp_path, overrides, n=n)
    loop = Loop(cfg, StubLLM(queries, tokenizer_dir), tokenizer)
    applied: dict[str, list[Any]] = {q.query_id: [] for q in queries}

    def step(number: int) -> dict[str, str]:
        """As the default trainer: which prompts failed, by query."""
        uids = [f"{q.query_id}-{number}" for q in queries]
        began = time.monotonic()
        scored, status = loop.v1(queries, step=number, uids=uids, wait=deadline + 60)
        print(f"step {number}: {sorted(status.values())} in {time.monotonic() - began:.1f} s")
        by_uid: dict[str, list[Any]] = {uid: [] for uid in uids}
        for one in scored:
            by_uid[one.uid].append(one)
        for q, uid in zip(queries, uids, strict=True):
            whole = status[uid] == "finished"
            assert (len(by_uid[uid]) == n) == whole
            fate = GROUP_STATUS["ok" if whole else "partial"]
            assert {s.extra["rb_group_status"] for s in by_uid[uid]} <= {fate}
            assert {s.extra["rb_status"] for s in by_uid[uid]} <= {STATUS["ok"]}
            if whole:
                texts = [r.text for epoch in q.epochs for r in epoch]
                came = sorted((s.text for s in by_uid[uid]), key=texts.index)
                applied[q.query_id].append((q, came, number))
        return status

    try:
        older = queries[:1]
        assert {s.extra["rb_group_status"] for s in loop.v0(older, split="test")} == {0}
        assert set(step(1).values()) == {"finished"}
        os.kill(ray.get(loop.workers()[0].__ray_call__.remote(_pid)), signal.SIGKILL)
        for number in (2, 3):
            assert set(step(number).values()) == {"finished", "failure"}
        del loop.workers()[0]  # which the agent loops have been given
        want = {}
        with rb.Scorer(judge=rb.Judge(base_url=judge_url, model="simulated")) as scorer:
            for query_id, groups in applied.items():
                for q, texts, number in groups:
                    ranked = [r.text for r in q.ranked]
                    scorer.score_group(query_id, texts, query=q.query, ranked=ranked, step=number)
                want[query_id] = scorer.buffer(query_id).raw
        assert buffers(loop, applied) == want
        with pytest.raises(ray.exceptions.ActorDiedError, match="RewardLoopWorker"):
            loop.v0(queries)  # 42 rollouts choose among 4 workers
    finally:
        loop.close()


def test_a_reward_worker_is_killed_with_rollouts_in_it(
    loop: Loop, queries: list[Any], proxy: Proxy
) -> None:
    """Those it had handed over stay in their groups, whose other siblings are paid for them."""
    applied: dict[str, list[tuple[Any, int]]] = {q.query_id: [] for q in queries[:6]}

    def step(epoch: int, kill: bool = False) -> int:
        """How many calls failed with the worker."""
        refs = {q.query_id: group(loop, q, epoch, f"{q.query_id}-{epoch}") for q in queries[:6]}
        if kill:
            proxy.until_held(6 * N)
            os.kill(pid, signal.SIGKILL)
            proxy.let_go()
        failed = 0
        for q in queries[:6]:
            got = []
            for ref in refs[q.query_id]:
                try:
                    got.append(ray.get(ref, timeout=120))
                except ray.exceptions.RayActorError:
                    failed += 1
            if numbers(got)[1] == {GROUP_STATUS["ok"]}:
                applied[q.query_id].append((q, epoch))
        return failed

    pid = ray.get(loop.workers()[0].__ray_call__.remote(_pid))
    assert step(0) == 0
    proxy.hold()
    assert step(1, kill=True) == 6 * N // 2
    assert all((q, 1) in applied[q.query_id] for q in queries[:6])
    failed = step(2)
    assert failed == 6 * N // 2  # at once, and their siblings after the deadline
    del loop.workers()[0]
    assert all((q, 2) not in applied[q.query_id] for q in queries[:6])
    assert step(3) == 0
    assert buffers(loop, applied) == reference(applied, proxy.url)


def pid_of(owner: Any, seconds: float = 60.0) -> int:
    """Of the life that answers, which may still be starting."""
    end = time.monotonic() + seconds
    while True:
        try:
            return int(ray.get(owner.stats.remote())["pid"])
        except ray.exceptions.ActorUnavailableError:
            assert time.monotonic() < end
            time.sleep(0.1)


def _pid(worker: Any) -> int:
    return os.getpid()
