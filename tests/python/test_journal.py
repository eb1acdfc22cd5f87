"""A snapshot and the journal that goes on from it are the scorer."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import rankbuffer as rb

QUALITIES = {f"t{i}": float(i) for i in range(60)}
RANKED = ["t50", "t40", "t30", "t20"]


def scorer() -> rb.Scorer:
    return rb.Scorer(judge=rb.SimulatedJudge(qualities=QUALITIES), method=rb.RankBuffer(k0=4))


def group(target: rb.Scorer, query: str, step: int, **labels: object) -> rb.GroupResult:
    with target.open_group(
        query, expected=4, query=f"about {query}", ranked=RANKED, step=step, **labels
    ) as feed:  # type: ignore[arg-type]
        for quality in (5, 25, 45, 55):
            feed.add(f"t{(quality + step) % 60}")
    return feed.result


def views(target: rb.Scorer, queries: list[str]) -> list[rb.Buffer]:
    return [target.buffer(query) for query in queries]


def test_every_step_comes_back(tmp_path: Path) -> None:
    queries = ["a", "b", "c"]
    states = {}
    with scorer() as first:
        first.journal(tmp_path / "0.rbj")
        for step in range(1, 5):
            for query in queries:
                assert group(first, query, step, after_checkpoint=step - 1).applied
            states[step] = views(first, queries)
            if step == 2:
                first.journal(tmp_path / "1.rbj", snapshot=tmp_path / "2.zst")
        assert first.stats()["journal"]["entries"] == 6
    for step in range(1, 5):
        for until in ({"until_step": step}, {"until_after_checkpoint": step}):
            with scorer() as again:
                found = again.restore_from(
                    journals=[tmp_path / "0.rbj", tmp_path / "1.rbj"], **until
                )
                assert found["entries"] == 3 * step
                assert views(again, queries) == states[step]
    with scorer() as again:
        again.restore_from(checkpoints=[tmp_path / "2.zst"], journals=[tmp_path / "1.rbj"])
        assert views(again, queries) == states[4]


def test_shards_are_by_crc32(tmp_path: Path) -> None:
    queries = [f"query {i} \u00fc" for i in range(10)]
    with scorer() as first:
        first.journal(tmp_path / "j")
        for query in queries:
            group(first, query, 1)
    for index in range(3):
        mine = [q for q in queries if zlib.crc32(q.encode()) % 3 == index]
        with scorer() as part:
            assert part.restore_from(journals=[tmp_path / "j"], shard=(index, 3))["queries"] == len(
                mine
            )
            assert len(views(part, mine)) == len(mine)


def test_a_tag_is_applied_once(tmp_path: Path) -> None:
    with scorer() as first:
        first.journal(tmp_path / "j")
        assert group(first, "a", 1, idempotency_key="uid").applied
        state = first.buffer("a")
        again = group(first, "a", 2, idempotency_key="uid")
        assert not again.applied
        assert again.group_status == "ok"
        assert first.buffer("a") == state
    with scorer() as second:
        second.restore_from(journals=[tmp_path / "j"])
        assert not group(second, "a", 3, idempotency_key="uid").applied


def test_errors(tmp_path: Path) -> None:
    with scorer() as one:
        one.journal(tmp_path / "j")
        with pytest.raises(rb.FileError):
            one.journal(tmp_path / "j")
        with pytest.raises(rb.FileError):
            one.journal(tmp_path / "none" / "j")
        assert group(one, "a", 1).applied  # the first journal goes on
        assert one.stats()["journal"]["entries"] == 1
        (tmp_path / "foreign").write_text("hello, this is no journal")
        with pytest.raises(rb.CheckpointError):
            one.restore_from(journals=[tmp_path / "foreign"])
        with pytest.raises(rb.InputError, match="shard"):
            one.restore_from(shard=(2, 2))
        assert one.buffer("a").anchors
    with scorer() as other, pytest.raises(rb.InputError, match="idempotency_key"):
        group(other, "a", 1, idempotency_key="x" * 300)


def test_a_result_key_brings_the_result_back(tmp_path: Path) -> None:
    texts = ["<think>so</think>t5", "t25", "t45", ""]
    with scorer() as first:
        first.journal(tmp_path / "j")
        with first.open_group(
            "a", expected=4, query="about a", ranked=RANKED, result_key="uid \u00fc"
        ) as feed:
            for index in (3, 0, 2, 1):
                feed.add(texts[index], index)
        given = feed.result
        group(first, "a", 1)  # without a key: nothing of it is kept
    with scorer() as second:
        found = second.restore_from(journals=[tmp_path / "j"])
        assert second.restore_from(checkpoints=[], journals=[])["results"] == []
    (answer,) = found["results"]
    assert (found["entries"], answer["result_key"], answer["query_id"]) == (2, "uid \u00fc", "a")
    assert answer["result"] == given.raw
    assert rb.GroupResult.from_json(answer["result"]) == given
    assert answer["responses"] == [hashlib.sha256(t.encode()).hexdigest()[:24] for t in texts]


DYING = """
import json, os, signal, sys
import rankbuffer as rb
from test_journal import group, scorer

first = scorer()
first.journal(sys.argv[1])
for step in range(1, 4):
    for query in "abc":
        result = group(first, query, step, result_key=f"{query}/{step}")
        print(json.dumps(result.raw), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_its_answers(tmp_path: Path) -> None:
    died = subprocess.run(
        [sys.executable, "-c", DYING, str(tmp_path / "j")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL, died.stderr
    given = [json.loads(line) for line in died.stdout.splitlines()]
    assert len(given) == 9
    with scorer() as second:
        found = second.restore_from(journals=[tmp_path / "j"])
        assert [answer["result"] for answer in found["results"]] == given
        early = second.restore_from(journals=[tmp_path / "j"], until_step=2)
    assert [answer["result_key"] for answer in early["results"]] == [
        f"{q}/{s}" for s in (1, 2) for q in "abc"
    ]


def test_result_key_errors() -> None:
    with scorer() as one:
        with pytest.raises(rb.InputError, match=": 513 bytes"):
            group(one, "a", 1, result_key="x" * 513)
        with pytest.raises(rb.InputError, match="result_key: must be a string"):
            group(one, "a", 1, result_key=7)
