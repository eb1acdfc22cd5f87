"""``rankbuffer score``: results in order, and going on after a kill."""

from __future__ import annotations

import gzip
import itertools
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_tools import rows, run, sample_rows, start, wait_until, write_groups, write_rows

import rankbuffer as rb
from rankbuffer.cli import main
from rankbuffer.cli.score import scoring
from rankbuffer.cli.score.groups import SAMPLE_GROUPS
from rankbuffer.replay import SAMPLE, qualities, read_replay

SIM = ["--sim", "--data", "sample"]


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_groups(tmp_path_factory.mktemp("groups") / "groups.jsonl")


@pytest.fixture(scope="module")
def whole(groups: Path) -> Path:
    """The results of a run that was never interrupted."""
    out = groups.with_name("whole.jsonl")
    assert main(["score", str(groups), "-o", str(out), *SIM]) == 0
    return out


def test_results_equal_those_of_the_library_one_by_one(groups: Path, whole: Path) -> None:
    judge = rb.SimulatedJudge(qualities=qualities(read_replay(SAMPLE)))
    want = []
    with rb.Scorer(judge=judge) as scorer, groups.open() as file:
        for line in file:
            want.append(scorer.score_group(**json.loads(line)).raw)
            del want[-1]["latency_ms"]
    assert rows(whole) == want


def test_method_and_its_options(groups: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    options = ["--option", "k0=7", "--option", "coarse_only=true", "--option", "init=ranked"]
    assert main(["score", str(groups), "-o", str(out), *options, *SIM]) == 0
    assert rows(out)[0]["anchors_before"] == 7
    assert all("fine" not in row["calls"] for row in rows(out))
    other = tmp_path / "pointwise.jsonl"
    assert main(["score", str(groups), "-o", str(other), "--method", "pointwise", *SIM]) == 0
    assert {row["method"] for row in rows(other)} == {"pointwise"}


def test_over_http_and_from_a_gzipped_file(groups: Path, whole: Path, tmp_path: Path) -> None:
    zipped, out = tmp_path / "groups.jsonl.gz", tmp_path / "out.jsonl"
    zipped.write_bytes(gzip.compress(groups.read_bytes()))
    judge = rb.SimulatedJudge(qualities=qualities(read_replay(SAMPLE)))
    with rb.JudgeServer(judge) as server:
        endpoint = ["--base-url", server.url, "--model", "any", "--judge-option", "timeout=30"]
        assert main(["score", str(zipped), "-o", str(out), *endpoint]) == 0
    assert rows(out) == rows(whole)


def test_a_group_row_may_hold_every_field(tmp_path: Path) -> None:
    query = sample_rows()[0]
    first = {
        "query_id": query["query_id"],
        "query": query["query"],
        "rubrics": query["rubrics"],
        "ranked": [response["text"] for response in query["ranked_responses"]],
        "reference": query["ranked_responses"][0]["text"],
        "responses": [response["text"] for response in query["epochs"][0][:3]],
        "eligible": [True, False, True],
        "format_scores": [1, 0, 0.5],
        "epoch": 3,
        "step": 17,
        "update": False,
        "validate": False,
        "deadline_ms": 60000,
    }
    again = {"query_id": query["query_id"], "responses": first["responses"], "validate": True}
    out = tmp_path / "out.jsonl"
    groups = write_rows(tmp_path / "groups.jsonl", [first, again])
    assert main(["score", str(groups), "-o", str(out), *SIM]) == 0
    one, two = rows(out)
    assert (one["epoch"], one["step"], one["status"][1]) == (3, 17, "ineligible")
    assert one["anchors_before"] == one["anchors"] == two["anchors"] == 4


def test_the_groups_that_come_with_the_package(
    groups: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SAMPLE_GROUPS.read_bytes() == groups.read_bytes()
    monkeypatch.chdir(tmp_path)
    assert main(["score", "sample", "-o", "out.jsonl", "--sim"]) == 0
    assert rows(tmp_path / "out.jsonl") == rows(whole)


def _snapshots(out: Path) -> list[Path]:
    return sorted(out.with_name(out.name + ".rankbuffer").glob("*-*.zst"))


def test_killed_and_resumed(
    groups: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    arguments = ["score", str(groups), "-o", str(out), "--data", "sample", "--concurrency", "4"]
    for _ in range(2):
        before = _snapshots(out)
        process = start(*arguments, "--sim", "latency_ms=20")
        wait_until(lambda: len(_snapshots(out)) == 1 and _snapshots(out) != before, process)  # noqa: B023
        process.kill()
        process.communicate()
        with out.open("a") as file:
            file.write('{"group_id": "torn')
    (snapshot,) = _snapshots(out)
    saved = int(snapshot.name.partition("-")[0])
    assert 0 < saved < 48
    calls = itertools.count()
    real = rb.Scorer.score_group_async

    async def counted(self: rb.Scorer, *positional: Any, **named: Any) -> rb.GroupResult:
        next(calls)
        return await real(self, *positional, **named)

    monkeypatch.setattr(rb.Scorer, "score_group_async", counted)
    assert main([*arguments, "--sim"]) == 0
    assert next(calls) == 48 - saved, "what was saved is not scored again"
    assert rows(out) == rows(whole)


def test_interrupt_lets_the_groups_in_flight_finish(
    groups: Path, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    arguments = ["score", str(groups), "-o", str(out), "--data", "sample", "--concurrency", "4"]
    process = start(*arguments, "--sim", "latency_ms=50")
    wait_until(lambda: out.exists() and out.stat().st_size > 0, process)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate()
    assert process.returncode == 130, stderr
    assert "finishing the groups in flight" in stderr
    done = len(rows(out))
    assert f"stopped after {done} of 48 groups; the same command goes on there" in stderr
    assert "Traceback" not in stderr
    (snapshot,) = _snapshots(out)
    assert int(snapshot.name.partition("-")[0]) == done, "nothing done is lost"
    run(*arguments, "--sim")
    assert rows(out) == rows(whole)


def test_a_second_interrupt_ends_at_once(groups: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    process = start(
        *("score", groups, "-o", out, "--data", "sample", "--sim", "latency_ms=60000"),
    )
    state = tmp_path / "out.jsonl.rankbuffer"
    wait_until(lambda: (state / "run.json").exists() and out.exists(), process)
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    said = process.stderr.readline()
    # The first may come so early that there is nothing to finish yet.
    if "finishing" in said:
        process.send_signal(signal.SIGINT)
        said = process.stderr.readline()
    _, rest = process.communicate()
    assert process.returncode == 130
    assert "stopped at once" in said or "interrupted" in said
    assert rest == ""


class Crash(BaseException):
    """The end of the process, as far as the code under test can tell."""


def test_a_crash_at_every_checkpoint(
    groups: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Crashes just before and just after each snapshot, with checkpoints as often as possible."""
    monkeypatch.setattr(scoring, "_LEAST_S", 0.0)
    monkeypatch.setattr(scoring, "_SHARE", 0)
    out = tmp_path / "out.jsonl"
    arguments = ["score", str(groups), "-o", str(out), *SIM, "--concurrency", "3"]
    real = rb.Scorer.snapshot
    crashes = 0
    for late in itertools.cycle((False, True)):
        seen = itertools.count()

        def snapshot(self: rb.Scorer, path: Path) -> None:
            number = next(seen)  # noqa: B023
            if number == 4 and not late:  # noqa: B023
                raise Crash
            real(self, path)
            if number == 4:
                raise Crash

        monkeypatch.setattr(rb.Scorer, "snapshot", snapshot)
        try:
            assert main(arguments) == 0
        except Crash:
            crashes += 1
        else:
            break
    assert crashes > 3
    assert rows(out) == rows(whole)


@pytest.fixture
def copied(groups: Path, whole: Path, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Groups and half of their results, without the buffers beside them."""
    own, out = tmp_path / "groups.jsonl", tmp_path / "out.jsonl"
    own.write_bytes(groups.read_bytes())
    lines = whole.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(lines[:20]) + lines[20][:33])
    return own, out


def test_results_without_buffers_are_made_again(copied: tuple[Path, Path], whole: Path) -> None:
    own, out = copied
    assert main(["score", str(own), "-o", str(out), *SIM]) == 0
    assert rows(out) == rows(whole)


def test_results_of_other_groups_are_kept(
    copied: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    own, out = copied
    lines = own.read_text().splitlines(keepends=True)
    lines[3], lines[4] = lines[4], lines[3]
    own.write_text("".join(lines))
    before = out.read_bytes()
    assert main(["score", str(own), "-o", str(out), *SIM]) == 2
    assert f"{out}:4: not the result of row 4 of {own}; use another -o" in capsys.readouterr().err
    assert out.read_bytes() == before


def test_groups_that_changed_since_are_refused(
    groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, out = tmp_path / "groups.jsonl", tmp_path / "out.jsonl"
    own.write_bytes(groups.read_bytes())
    assert main(["score", str(own), "-o", str(out), *SIM]) == 0
    own.write_text(own.read_text().replace("Plants need water to live.", "Live, plants."))
    assert main(["score", str(own), "-o", str(out), *SIM]) == 2
    assert "the first 48 rows are not those" in capsys.readouterr().err


def test_more_groups_go_on(groups: Path, whole: Path, tmp_path: Path) -> None:
    own, out = tmp_path / "groups.jsonl", tmp_path / "out.jsonl"
    lines = groups.read_text().splitlines(keepends=True)
    own.write_text("".join(lines[:30]))
    assert main(["score", str(own), "-o", str(out), *SIM]) == 0
    own.write_text("".join(lines))
    assert main(["score", str(own), "-o", str(out), *SIM]) == 0
    assert rows(out) == rows(whole)


def test_other_settings_are_refused(
    groups: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(groups), "-o", str(whole), "--option", "k0=2", *SIM]) == 2
    assert "method.k0 was 4, is now 2" in capsys.readouterr().err


def test_failed_groups_give_exit_code_1(groups: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = run(
        *("score", groups, "-o", out, "--method", "pointwise", "--data", "sample"),
        *("--sim", "failure_rate=1,max_retries=0", "--max-failures", "0"),
        code=1,
    )
    assert "48 groups (48 failed" in done.stdout
    assert {status for row in rows(out) for status in row["status"]} == {"judge_failed"}


def test_same_query_in_flight_at_once_takes_effect_in_order(tmp_path: Path) -> None:
    """One query only, so every group waits for the one before it."""
    query = sample_rows()[0]
    texts = [[response["text"] for response in epoch] for epoch in query["epochs"]]
    group = {"query_id": "q", "query": query["query"], "responses": texts[0]}
    others = [{"query_id": "q", "responses": responses} for responses in texts[1:] * 5]
    groups = write_rows(tmp_path / "groups.jsonl", [group, *others])
    out = tmp_path / "out.jsonl"
    assert main(["score", str(groups), "-o", str(out), *SIM]) == 0
    found = rows(out)
    assert [row["group_id"] for row in found] == [f"q/0/{i}" for i in range(16)]
    for before, after in itertools.pairwise(found):
        assert after["anchors_before"] == before["anchors"]
