"""``rankbuffer rubrics``: what it adds, what it leaves alone, and that it goes on where it was."""

from __future__ import annotations

import itertools
import json
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from cli_tools import run, sample_rows, start, wait_until, write_groups, write_rows

import rankbuffer as rb
from rankbuffer.cli import main
from rankbuffer.replay import SAMPLE


def _bare(count: int = 12) -> list[dict[str, Any]]:
    """The sample's queries without rubrics."""
    return [{k: v for k, v in row.items() if k != "rubrics"} for row in sample_rows()[:count]]


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "bare.jsonl", _bare())


def test_replay_rows_can_then_be_scored_by_rubric(bare: Path, tmp_path: Path) -> None:
    out = tmp_path / "rich.jsonl"
    assert main(["rubrics", str(bare), "-o", str(out), "--sim"]) == 0
    found = _read(out)
    assert [{k: v for k, v in row.items() if k != "rubrics"} for row in found] == _bare()
    for row in found:
        assert list(row)[:3] == ["query_id", "query", "rubrics"]
        assert 3 <= len(row["rubrics"]) <= 5
        assert all(r["text"] and r["weight"] in range(1, 6) for r in row["rubrics"])
    arguments = ["--methods", "gdpo,explicit", "--sim", "--out", str(tmp_path / "compared")]
    assert main(["compare", "--data", str(bare), *arguments]) == 2
    assert main(["compare", "--data", str(out), *arguments]) == 0
    summary = json.loads((tmp_path / "compared" / "summary.json").read_text())["methods"]
    assert summary["gdpo"]["calls"] == sum(
        len(row["rubrics"]) * len(group) for row in found for group in row["epochs"]
    )


def test_rows_that_have_some_stay_byte_by_byte(tmp_path: Path) -> None:
    text = SAMPLE.read_text(encoding="utf-8").replace('"query"', '"query" ')
    source, out = tmp_path / "sample.jsonl", tmp_path / "out.jsonl"
    source.write_text(text, encoding="utf-8")
    assert main(["rubrics", str(source), "-o", str(out), "--sim"]) == 0
    assert out.read_text(encoding="utf-8") == text
    assert main(["rubrics", str(source), "-o", str(out), "--sim", "--overwrite"]) == 2
    other = tmp_path / "other.jsonl"
    assert main(["rubrics", str(source), "-o", str(other), "--sim", "--overwrite"]) == 0
    for row, before in zip(_read(other), sample_rows(), strict=True):
        assert row["rubrics"] != before["rubrics"]
        assert list(row) == list(before)
        assert row | {"rubrics": 0} == before | {"rubrics": 0}


def test_files_of_groups(tmp_path: Path) -> None:
    """Later groups of a query belong to the row that describes it."""
    groups = [
        {k: v for k, v in row.items() if k != "rubrics"}
        for row in _read(write_groups(tmp_path / "all.jsonl", epochs=2))
    ]
    again = groups[0] | {"step": 7}
    source = write_rows(tmp_path / "groups.jsonl", [*groups, again])
    out = tmp_path / "out.jsonl"
    assert main(["rubrics", str(source), "-o", str(out), "--sim"]) == 0
    found = _read(out)
    assert [("rubrics" in row) for row in found] == [("query" in row) for row in [*groups, again]]
    assert found[-1]["rubrics"] == found[0]["rubrics"], "one query, one set"
    score = ["--sim", "--data", "sample", "-o", str(tmp_path / "scored.jsonl")]
    assert main(["score", str(out), "--method", "explicit", *score]) == 0


def test_rows_of_one_query_take_what_another_has(tmp_path: Path) -> None:
    mine = [{"text": "Mine.", "weight": 2}]
    first = {"query_id": "q", "query": "Why?", "ranked": ["a", "b"]}
    source = write_rows(tmp_path / "in.jsonl", [first, first | {"rubrics": mine}, first])
    out = tmp_path / "out.jsonl"
    assert main(["rubrics", str(source), "-o", str(out), "--sim"]) == 0
    assert [row["rubrics"] for row in _read(out)] == [mine] * 3


def test_texts_of_any_kind_survive(tmp_path: Path) -> None:
    row = {
        "query": "漢字 \u2028 \x85 ?",
        "ranked": ["a\x00b", "\ufeff"],
        "note": 1e300,
        "n": 10**30,
    }
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    broken = json.dumps(row | {"note": "\ud800"})
    source.write_text(json.dumps(row, ensure_ascii=False) + "\n" + broken + "\n", encoding="utf-8")
    assert main(["rubrics", str(source), "-o", str(out), "--sim"]) == 0
    lines = out.read_text(encoding="utf-8").split("\n")
    for line, note in zip(lines, (1e300, "\ud800"), strict=False):
        found = json.loads(line)
        assert found.pop("rubrics")
        assert found == row | {"note": note}


BAD = [
    ([{"query_id": "q", "ranked": ["a"]}], ":2: query: missing"),
    ([{"query": "?"}], ":2: ranked: missing"),
    ([{"query": "?", "ranked": []}], ":2: ranked: missing"),
    ([{"query": "?", "ranked_responses": "a"}], ":2: ranked_responses: must be a list"),
    ([{"query": "?", "ranked": ["a", 7]}], ":2: ranked[1]: must be a string"),
    (
        [{"query": "?", "ranked_responses": [{"quality": 1}]}],
        ":2: ranked_responses[0].text: missing",
    ),
    ([{"query": "?", "ranked": ["a", "\ud800"]}], ":2: ranked"),
    ([{"query": 7, "ranked": ["a"]}], ":2: query"),
    ([{"query": "?", "ranked": ["a"], "rubrics": "x"}], ":2: rubrics: must be a list"),
]


@pytest.mark.parametrize(("rows", "complaint"), BAD)
def test_bad_rows_are_named_before_anything_is_paid_for(
    rows: list[dict[str, Any]],
    complaint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rb.Scorer, "write_rubrics", None)
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in [*_bare(1), *rows]))
    out = tmp_path / "out.jsonl"
    assert main(["rubrics", str(source), "-o", str(out), "--sim"]) == 2
    assert f"in.jsonl{complaint}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [source]


def test_what_is_not_ours_is_kept(
    bare: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = bare.read_bytes()
    for out in (bare, write_rows(tmp_path / "theirs.jsonl", [{"a": 1}])):
        theirs = out.read_bytes()
        assert main(["rubrics", str(bare), "-o", str(out), "--sim"]) == 2
        assert "use another -o" in capsys.readouterr().err
        assert out.read_bytes() == theirs
    assert bare.read_bytes() == before
    assert main(["rubrics", str(bare), "-o", str(tmp_path / "x"), "--sim"]) == 0
    write_rows(bare, _bare(3))
    assert main(["rubrics", str(bare), "-o", str(tmp_path / "x"), "--sim"]) == 2
    assert "queries.rows was 12, is now 3" in capsys.readouterr().err


def test_failed_queries_are_tried_again(
    bare: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, asked, lock = tmp_path / "out.jsonl", [], threading.Lock()
    real = rb.Scorer.write_rubrics
    broken = {row["query_id"] for row in _bare()[2:9]}

    def patched(self: rb.Scorer, query_id: str, **given: Any) -> list[rb.Rubric]:
        with lock:
            asked.append(query_id)
        if query_id in broken:
            raise rb.JudgeError("the judge is down")
        return real(self, query_id, **given)

    monkeypatch.setattr(rb.Scorer, "write_rubrics", patched)
    arguments = ["rubrics", str(bare), "-o", str(out), "--sim"]
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert "12 rows; queries with new rubrics: 5, failed: 7," in said.out
    assert said.err.splitlines()[0] == f"{bare}:3: the judge is down"
    assert said.err.splitlines()[-1] == "and 2 more; the same command tries those again"
    assert ["rubrics" in row for row in _read(out)] == [i not in range(2, 9) for i in range(12)]
    asked.clear()
    broken.clear()
    assert main(arguments) == 0
    assert sorted(asked) == sorted(row["query_id"] for row in _bare()[2:9])
    assert all("rubrics" in row for row in _read(out))
    asked.clear()
    assert main(arguments) == 0, "all is there"
    assert asked == []


def test_a_failing_judge_over_http(tmp_path: Path) -> None:
    bare = write_rows(tmp_path / "bare.jsonl", _bare(2))
    judge = rb.SimulatedJudge(qualities={"": 0.0}, malformed_rate=1.0)
    with rb.JudgeServer(judge) as server:
        where = ["--base-url", server.url, "--model", "m"]
        done = run("rubrics", bare, "-o", tmp_path / "out.jsonl", *where, code=1)
    assert "Traceback" not in done.stderr
    assert f"{bare}:1: " in done.stderr
    assert f"{bare}:2: " in done.stderr
    assert _read(tmp_path / "out.jsonl") == _bare(2)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_ended_and_resumed(bare: Path, tmp_path: Path, number: signal.Signals) -> None:
    out, whole = tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    state = tmp_path / "out.jsonl.rankbuffer" / "rubrics.jsonl"
    assert main(["rubrics", str(bare), "-o", str(whole), "--sim"]) == 0
    slow = ["--sim", "latency_ms=300", "--concurrency", "1"]
    process = start("rubrics", bare, "-o", out, *slow)
    wait_until(lambda: state.exists() and len(state.read_text().splitlines()) >= 2, process)
    process.send_signal(number)
    _, stderr = process.communicate()
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert stderr == "rankbuffer rubrics: stopped; the same command goes on where it was\n"
    kept = state.read_text()
    assert len(kept.splitlines()) < 12
    assert not out.exists()
    with state.open("a") as file:
        file.write('{"query": "plan')  # as torn by a power cut
    run("rubrics", bare, "-o", out, "--sim")
    assert out.read_bytes() == whole.read_bytes()
    assert state.read_text().startswith(kept), "nothing was asked twice"


def test_two_at_once(bare: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    process = start("rubrics", bare, "-o", out, "--sim", "latency_ms=60000")
    wait_until((tmp_path / "out.jsonl.rankbuffer" / "run.json").exists, process)
    done = run("rubrics", bare, "-o", out, "--sim", code=2)
    assert "another run is writing here" in done.stderr
    process.kill()
    process.communicate()


def test_all_queries_are_asked_at_once(bare: Path, tmp_path: Path) -> None:
    """Judged one after another, the last would never be begun."""
    out, begun = tmp_path / "out.jsonl", threading.Barrier(12, timeout=60)
    real, count = rb.Scorer.write_rubrics, itertools.count()

    def patched(self: rb.Scorer, query_id: str, **given: Any) -> list[rb.Rubric]:
        next(count)
        begun.wait()
        return real(self, query_id, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rb.Scorer, "write_rubrics", patched)
        assert main(["rubrics", str(bare), "-o", str(out), "--sim"]) == 0
    assert next(count) == 12
