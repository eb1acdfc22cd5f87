"""Runs whose judge goes away: what is kept, what is tried again, what a person is told."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_tools import rows, write_groups

import rankbuffer as rb
from rankbuffer.cli import main
from rankbuffer.cli.common.failures import Reasons, Streak
from rankbuffer.cli.compare import plan
from rankbuffer.replay import SAMPLE, qualities, read_replay

# A deadline that ends before the judge answers makes a group fail for real.
SLOW = "latency_ms=40"
COMPARE = ["compare", "--data", "sample", "--methods", "rankbuffer,pointwise"]


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_groups(tmp_path_factory.mktemp("groups") / "groups.jsonl", epochs=2)


@pytest.fixture(scope="module")
def whole(groups: Path) -> Path:
    out = groups.with_name("whole.jsonl")
    assert main(["score", str(groups), "-o", str(out), "--sim", "--data", "sample"]) == 0
    return out


def _fail(patch: pytest.MonkeyPatch, when: Callable[[int], bool]) -> None:
    """Makes those groups fail whose number in the order of the run is chosen."""
    numbers = itertools.count()
    real = rb.Scorer.score_group_async

    async def score(self: rb.Scorer, *arguments: Any, **options: Any) -> rb.GroupResult:
        if when(next(numbers)):
            options["deadline"] = 0.001
        return await real(self, *arguments, **options)

    patch.setattr(rb.Scorer, "score_group_async", score)


def _score(groups: Path, out: Path, *more: str) -> list[str]:
    where = ["score", str(groups), "-o", str(out), "--data", "sample", "--concurrency", "4"]
    return [*where, "--sim", SLOW, *more]


def test_score_goes_on_before_an_outage(
    groups: Path,
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out.jsonl"
    with monkeypatch.context() as patch:
        _fail(patch, lambda number: number == 2 or number >= 9)
        assert main(_score(groups, out, "--max-failures", "5")) == 1
    said = capsys.readouterr()
    assert "after 9 of 24 groups: stopped, the last " in said.err
    assert re.search(r"the first of them with: \w.*deadline", said.err)
    assert "9 groups (1 failed, 0 partly)" in said.out
    kept = rows(out)
    assert [row["group_status"] for row in kept] == ["ok"] * 2 + ["failed"] + ["ok"] * 6
    assert main(_score(groups, out)) == 1, "the one in between stays failed"
    # How often a query was tried is all that tells the difference; the failed group of
    # row 2 changed no buffer, which the second group of its query has seen.
    got, want = (rows(path, "group_id") for path in (out, whole))
    different = [i for i in range(24) if got[i] != want[i]]
    assert {2} <= set(different) <= {2, 14}
    assert got[:9] == [{k: v for k, v in row.items() if k != "group_id"} for row in kept]


def test_an_outage_from_the_first_group_on(
    groups: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    with monkeypatch.context() as patch:
        _fail(patch, lambda _: True)
        assert main(_score(groups, out)) == 1
    assert rows(out) == []
    assert main(_score(groups, out)) == 0
    assert rows(out) == rows(whole)


def test_max_failures_0_keeps_all(
    groups: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out.jsonl"
    _fail(monkeypatch, lambda _: True)
    assert main(_score(groups, out, "--max-failures", "0")) == 1
    assert {row["group_status"] for row in rows(out)} == {"failed"}
    said = capsys.readouterr()
    assert "24 groups (24 failed" in said.out
    assert "why groups failed" in said.err
    assert "  24 x " in said.err
    assert "--retry-failed" in said.err


@pytest.mark.parametrize(
    ("sim", "code", "kept"),
    [
        ("malformed_rate=1,max_retries=0", "judge_no_verdict", 24),
        ("failure_rate=1,max_retries=0", "judge_server_error", 0),
    ],
)
def test_a_judge_that_answers_is_not_gone(
    sim: str, code: str, kept: int, groups: Path, tmp_path: Path
) -> None:
    """Its answers may be of no use, which is no outage."""
    out = tmp_path / "out.jsonl"
    arguments = ["score", str(groups), "-o", str(out), "--data", "sample", "--sim", sim]
    assert main([*arguments, "--max-failures", "5"]) == 1
    assert len(rows(out)) == kept
    again = [*arguments, "--max-failures", "0"]
    assert main(again) == 1
    assert [(row["group_status"], row["error_code"]) for row in rows(out)] == [
        ("failed", code)
    ] * 24


@pytest.mark.parametrize("reachable", [True, False])
def test_a_few_failures_at_the_end(
    reachable: bool,
    groups: Path,
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They count as an outage if the endpoint does not answer."""
    out = tmp_path / "out.jsonl"
    checks = itertools.count()

    def check(self: rb.Scorer, deadline: float = 0) -> None:
        if next(checks) and not reachable:  # at the beginning all was well
            raise rb.JudgeError("connection refused")

    with monkeypatch.context() as patch:
        _fail(patch, lambda number: number >= 21)
        patch.setattr(rb.Scorer, "check", check)
        assert main(_score(groups, out)) == 1
    assert len(rows(out)) == (24 if reachable else 21)
    assert main(_score(groups, out)) == (1 if reachable else 0)
    if not reachable:
        assert rows(out, "group_id") == rows(whole, "group_id")


FAILED = {1, 5, 17}


@pytest.fixture(scope="module")
def holed(groups: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run in which some groups failed."""
    out = tmp_path_factory.mktemp("holed") / "out.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        _fail(patch, FAILED.__contains__)
        assert main(_score(groups, out)) == 1
    return out


def _copy(run: Path, to: Path) -> Path:
    state = to.with_name("out.jsonl.rankbuffer")
    state.mkdir(parents=True)
    for file in run.with_name("out.jsonl.rankbuffer").iterdir():
        (state / file.name).write_bytes(file.read_bytes())
    to.write_bytes(run.read_bytes())
    return to


def _retried(groups: Path) -> list[dict[str, Any]]:
    """The rows of the library, asked for the failed groups after all others."""
    lines = groups.read_text(encoding="utf-8").splitlines()
    given = [json.loads(line) for line in lines]
    for group in given:  # described in each row, as the first group of a query may come late
        first = next(g for g in given if g["query_id"] == group["query_id"])
        group.update({k: v for k, v in first.items() if k in ("query", "rubrics", "ranked")})
    found: dict[int, dict[str, Any]] = {}
    judge = rb.SimulatedJudge(qualities=qualities(read_replay(SAMPLE)))
    with rb.Scorer(judge=judge) as scorer:
        for number in sorted(range(len(given)), key=lambda n: (n in FAILED, n)):
            found[number] = scorer.score_group(**given[number]).raw
    for row in found.values():
        del row["latency_ms"], row["group_id"]
    return [found[number] for number in range(len(given))]


def test_retry_failed(groups: Path, holed: Path, tmp_path: Path) -> None:
    out = _copy(holed, tmp_path / "out.jsonl")
    assert [i for i, row in enumerate(rows(out)) if row["group_status"] == "failed"] == [1, 5, 17]
    assert main(_score(groups, out, "--retry-failed")) == 0
    assert rows(out, "group_id") == _retried(groups)
    before = out.read_bytes()
    assert main(_score(groups, out, "--retry-failed")) == 0, "there are none left"
    assert out.read_bytes() == before


def test_retry_failed_with_the_judge_still_gone(
    groups: Path, holed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = _copy(holed, tmp_path / "out.jsonl")
    before = out.read_bytes()
    with monkeypatch.context() as patch:
        _fail(patch, lambda _: True)
        assert main(_score(groups, out, "--retry-failed")) == 1
    assert out.read_bytes() == before


class Crash(BaseException):
    """The end of the process, as far as the code under test can tell."""


def test_a_crash_at_every_step_of_a_retry(
    groups: Path, holed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows and buffers change together or not at all."""
    want = _retried(groups)
    crashes = 0
    for count in itertools.count():
        out = _copy(holed, tmp_path / str(count) / "out.jsonl")
        seen = itertools.count()

        def crashing(real: Callable[..., Any], late: bool) -> Callable[..., Any]:
            def step(*arguments: Any, **options: Any) -> Any:
                number = next(seen)  # noqa: B023
                if number == count and not late:  # noqa: B023
                    raise Crash
                result = real(*arguments, **options)
                if number == count:  # noqa: B023
                    raise Crash
                return result

            return step

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", crashing(os.replace, late=count % 2 == 1))
            patch.setattr(os, "fsync", crashing(os.fsync, late=False))
            patch.setattr(rb.Scorer, "snapshot", crashing(rb.Scorer.snapshot, late=True))
            patch.setattr(Path, "rmdir", crashing(Path.rmdir, late=False))
            try:
                main(_score(groups, out, "--retry-failed"))
            except Crash:
                crashes += 1
            else:
                break
        assert main(_score(groups, out, "--retry-failed")) == 0
        assert rows(out, "group_id") == want, f"after a crash at step {count}"
    assert crashes > 6


# compare


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("compared")
    assert main([*COMPARE, "--sim", "--out", str(out)]) == 0
    return out


@pytest.mark.parametrize("first", [0, 17, 48 + 17])
def test_compare_goes_on_before_an_outage(
    first: int,
    compared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with monkeypatch.context() as patch:
        _fail(patch, lambda number: number >= first)
        assert main([*COMPARE, "--sim", SLOW, "--out", str(tmp_path)]) == 1
    label, kept = ("pointwise", first - 48) if first > 48 else ("rankbuffer", first)
    assert f"{label}: after {kept} of 48 groups: stopped, the last" in capsys.readouterr().err
    assert not (tmp_path / "groups.jsonl").exists()
    assert main([*COMPARE, "--sim", "--out", str(tmp_path)]) == 0
    one, two = (rows(out / "groups.jsonl", "group_id") for out in (tmp_path, compared))
    assert one == two


def test_compare_takes_failures_in_between_as_they_are(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(plan, "_PIECE", 5)
    _fail(monkeypatch, lambda number: 12 <= number < 24)
    arguments = [*COMPARE[:-1], "rankbuffer", "--sim", SLOW, "--out", str(tmp_path)]
    for _ in range(2):  # the second time only shows what there is
        assert main(arguments) == 1
        said = capsys.readouterr()
        assert "rankbuffer: why groups failed or are partial" in said.err
        counts = re.findall(r"^  (\d+) x ", said.err, re.MULTILINE)
        assert sum(map(int, counts)) == 12
        (anchors,) = (x for x in said.out.splitlines() if "anchors by epoch" in x)
        assert anchors.split("epoch")[1].split()[1] == "-", "all of an epoch failed"
    figures = json.loads((tmp_path / "summary.json").read_text())["methods"]["rankbuffer"]
    assert (figures["failed"], figures["kendall_tau_judged"]) == (12, 1.0)
    assert 0 < figures["kendall_tau"] < 1, "failed groups count as 0"
    for name in ("mean_anchors_by_epoch", "progress_by_epoch"):
        assert [value is None for value in figures[name]] == [False, True, False, False]
    assert figures["anchor_sources_by_epoch"][1] == {}


def test_compare_with_nothing_but_failures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sim = ["--sim", "failure_rate=1,max_retries=0", "--max-failures", "0"]
    assert main([*COMPARE, *sim, "--out", str(tmp_path)]) == 1
    table = capsys.readouterr().out.splitlines()
    for line in (x for x in table if x.startswith(("rankbuffer ", "pointwise "))):
        cells = line.split()
        assert cells[-1] == "48"
        assert cells.count("-") == 4, "tau, its error, bias, anchors"


def test_damaged_results_are_noticed(
    compared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (compared / "groups.jsonl").read_bytes().splitlines(keepends=True)
    summary = (compared / "summary.json").read_bytes()
    damages = {
        "torn": (b"".join(lines)[:-20], summary),
        "end": (b"".join(lines)[:-1], summary),
        "missing": (b"".join([*lines[:7], *lines[8:]]), summary),
        "swapped": (b"".join([lines[1], lines[0], *lines[2:]]), summary),
        "more": (b"".join([*lines, lines[-1]]), summary),
        "empty": (b"", summary),
        "summary": (b"".join(lines), summary[:-9]),
    }
    for name, (rows_, figures) in damages.items():
        out = tmp_path / name
        out.mkdir()
        (out / "run.json").write_bytes((compared / "run.json").read_bytes())
        (out / "groups.jsonl").write_bytes(rows_)
        (out / "summary.json").write_bytes(figures)
        assert main([*COMPARE, "--sim", "--out", str(out)]) == 2, name
        said = capsys.readouterr().err
        assert "damaged" in said, name
        assert "delete it to have all groups scored again" in said, name
        (out / ("summary.json" if name == "summary" else "groups.jsonl")).unlink()
        assert main([*COMPARE, "--sim", "--out", str(out)]) == 0, name
        assert rows(out / "groups.jsonl") == rows(compared / "groups.jsonl")
        capsys.readouterr()


# The parts


def _row(status: str, error: str = "") -> dict[str, Any]:
    return {"group_status": status, "error": error}


def test_a_streak() -> None:
    streak: Streak[int] = Streak(2)
    assert streak.take(_row("ok"), 1) == [1]
    assert streak.take(_row("failed"), 2) == []
    assert (len(streak), streak.over) == (1, False)
    assert streak.take(_row("partial"), 3) == [2, 3], "in their order"
    streak.take(_row("failed"), 4)
    streak.take(_row("failed"), 5)
    assert streak.over
    assert streak.release() == [4, 5]
    assert not streak.over


def test_a_failed_group_that_was_answered_is_no_sign_of_an_outage() -> None:
    streak: Streak[int] = Streak(2)
    for code in ("judge_context_overflow", "judge_no_verdict", "judge_truncated"):
        assert streak.take(_row("failed") | {"error_code": code}, 1) == [1]
    assert streak.take(_row("failed") | {"error_code": "judge_unreachable"}, 2) == []
    assert streak.take(_row("failed") | {"error_code": "judge_timeout"}, 3) == []
    assert streak.over


def test_reasons_are_counted_and_cannot_steer_the_terminal() -> None:
    reasons = Reasons()
    assert list(reasons.lines("x")) == []
    reasons.add(_row("ok", "none"))
    for count, text in enumerate(("rare", "b\x1b[31m\nc", "judge.timeout is short", "often")):
        for _ in range(count + 1):
            reasons.add(_row("failed" if count % 2 else "partial", text))
    head, *rest = reasons.lines("x")
    assert head.startswith("x: why groups failed")
    assert rest == [
        "  4 x often",
        "  3 x judge.timeout is short",
        "  2 x b\N{REPLACEMENT CHARACTER}[31m c",
        "  and 1 other reasons",
    ]
