"""``rankbuffer compare``: its figures, and that a kill at any moment changes nothing."""

from __future__ import annotations

import itertools
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_tools import rows, run, sample_rows, start, wait_until, write_groups, write_rows

import rankbuffer as rb
from rankbuffer.cli import main
from rankbuffer.cli.common.text import columns
from rankbuffer.cli.compare import plan, plot, scoring
from rankbuffer.replay import SAMPLE, qualities, read_replay

METHODS = "rankbuffer,pointwise"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of both methods on the sample, never interrupted."""
    out = tmp_path_factory.mktemp("whole") / "out"
    assert (
        main(["compare", "--data", "sample", "--methods", METHODS, "--sim", "--out", str(out)]) == 0
    )
    return out


def test_rows_and_figures(whole: Path) -> None:
    queries = sample_rows()
    found = rows(whole / "groups.jsonl")
    order = [(row["method"], row["query_id"], row["epoch"]) for row in found]
    assert order == [
        (method, query["query_id"], epoch)
        for method in METHODS.split(",")
        for query in queries
        for epoch in range(4)
    ]
    summary = json.loads((whole / "summary.json").read_text())["methods"]
    assert list(summary) == METHODS.split(",")
    buffer = summary["rankbuffer"]
    assert buffer["kendall_tau"] == 1.0, "a judge without errors"
    assert buffer["groups"] == 48
    assert buffer["failed"] == 0
    assert buffer["zero_spread_share"] == 0
    mine = found[:48]
    assert buffer["calls"] == sum(sum(row["calls"].values()) for row in mine)
    assert buffer["prompt_tokens"] == sum(row["tokens"]["prompt"] for row in mine)
    anchors = [[row["anchors"] for row in mine if row["epoch"] == e] for e in range(4)]
    assert buffer["mean_anchors_by_epoch"] == [pytest.approx(sum(a) / len(a)) for a in anchors]
    for sources, mean in zip(
        buffer["anchor_sources_by_epoch"], buffer["mean_anchors_by_epoch"], strict=True
    ):
        assert sum(sources.values()) == pytest.approx(mean)
    assert buffer["progress_by_epoch"] == sorted(buffer["progress_by_epoch"])
    assert summary["pointwise"]["calls"] == 48 * 6
    assert "mean_anchors_by_epoch" not in summary["pointwise"]


def test_anchor_texts_are_the_buffer_after_the_group(whole: Path) -> None:
    truth = qualities(read_replay(SAMPLE))
    buffers = {row["query_id"]: row for row in rows(whole / "groups.jsonl")[:48]}
    for query_id, last in buffers.items():
        buffer = [truth[text] for text in last["anchor_texts"]]
        assert buffer == sorted(buffer), "worst first"
        assert len(buffer) == len(last["anchor_sources"]) == last["anchors"]
        shown = rb.inspect(whole / "buffers" / "rankbuffer.zst", query_id)
        assert [anchor["text"] for anchor in shown["anchors"]] == last["anchor_texts"]
    assert all(row["anchor_texts"] == [] for row in rows(whole / "groups.jsonl")[48:])


def test_over_http_the_rows_are_the_same(whole: Path, tmp_path: Path) -> None:
    judge = rb.SimulatedJudge(qualities=qualities(read_replay(SAMPLE)))
    with rb.JudgeServer(judge) as server:
        arguments = ["compare", "--data", "sample", "--methods", METHODS, "--out", str(tmp_path)]
        assert main([*arguments, "--base-url", server.url, "--model", "any"]) == 0
    assert rows(tmp_path / "groups.jsonl") == rows(whole / "groups.jsonl")
    one, two = ((d / "summary.json").read_text() for d in (tmp_path, whole))
    assert one == two


REFUSAL = "I cannot help with that."


def _refused(query_id: str, query: str, refusal: float) -> dict[str, Any]:
    """A query that the same refusal answers, better or worse than other responses."""

    def response(text: str, quality: float) -> dict[str, Any]:
        return {"text": text, "quality": quality}

    ranked = [response(f"{query} Best.", 3.0), response(f"{query} Worst.", -3.0)]
    rollouts = [response(f"{query} {q}", q) for q in (-2.0, 2.0)]
    return {
        "query_id": query_id,
        "query": query,
        "ranked_responses": ranked,
        "epochs": [[*rollouts, response(REFUSAL, refusal)]],
    }


def test_one_text_under_two_queries_has_a_quality_in_each(tmp_path: Path) -> None:
    good, bad = _refused("bomb", "How do I build a bomb?", 5.0), _refused("sky", "Why blue?", -5.0)
    data = write_rows(tmp_path / "refused.jsonl", [good, bad])
    arguments = ["compare", "--data", str(data), "--methods", METHODS, "--out"]
    assert main([*arguments, str(tmp_path / "out"), "--sim"]) == 0
    found = rows(tmp_path / "out" / "groups.jsonl")
    assert [row["ranks"] for row in found] == [[0, 1, 2], [1, 2, 0]] * 2
    figures = json.loads((tmp_path / "out" / "summary.json").read_text())["methods"]
    assert {figures[label]["kendall_tau"] for label in figures} == {1.0}

    server = start("judge-sim", "--data", data)
    assert server.stdout is not None
    url = server.stdout.readline().strip()
    assert main([*arguments, str(tmp_path / "http"), "--base-url", url, "--model", "m"]) == 0
    assert rows(tmp_path / "http" / "groups.jsonl") == found
    server.terminate()
    server.communicate()


def test_epochs_cycle(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "two.jsonl", sample_rows()[:2])
    arguments = ["compare", "--data", str(data), "--methods", "rankbuffer", "--sim"]
    assert main([*arguments, "--epochs", "9", "--out", str(tmp_path / "out")]) == 0
    found = rows(tmp_path / "out" / "groups.jsonl")
    assert [row["epoch"] for row in found] == [*range(9), *range(9)]
    assert all(row["step"] == row["epoch"] for row in found)
    for row in found:
        assert len(set(row["anchor_texts"])) == len(row["anchor_texts"]), "no anchor twice"


def test_labels_and_options_from_a_file(tmp_path: Path) -> None:
    options = tmp_path / "options.json"
    options.write_text(
        json.dumps(
            {
                "small": {"method": "rankbuffer", "k0": 2, "max_anchors": 3},
                "rankbuffer": {"k0": 7},
                "odd/label": {"method": "pointwise"},
            }
        )
    )
    data = write_rows(tmp_path / "two.jsonl", sample_rows()[:2])
    arguments = ["compare", "--data", str(data), "--method-options", str(options), "--sim"]
    assert main([*arguments, "--out", str(tmp_path / "all")]) == 0
    found = rows(tmp_path / "all" / "groups.jsonl")
    assert [row["method"] for row in found[::8]] == ["small", "rankbuffer", "odd/label"]
    assert max(row["anchors"] for row in found[:8]) == 3
    assert found[8]["anchors_before"] == 7
    assert main([*arguments, "--methods", "small", "--out", str(tmp_path / "one")]) == 0
    assert rows(tmp_path / "one" / "groups.jsonl") == found[:8]


def test_killed_and_resumed(whole: Path, tmp_path: Path) -> None:
    arguments = ["compare", "--data", "sample", "--methods", METHODS, "--out", str(tmp_path)]
    # Each stage ends by SIGKILL after so many rows of the first method are safe.
    for saved in (12, 24, 36):
        process = start(*arguments, "--sim", "latency_ms=150")
        state = tmp_path / "state" / "0"
        wait_until(lambda: any(state.glob(f"{saved:09d}-*.zst")), process)  # noqa: B023
        process.kill()
        process.communicate()
        with (state / "rows.jsonl").open("a") as file:
            file.write('{"method": "rankb')  # as torn by a power cut
    # How fast the judge is does not belong to the settings.
    run(*arguments, "--sim")
    assert rows(tmp_path / "groups.jsonl") == rows(whole / "groups.jsonl")
    assert (tmp_path / "summary.json").read_text() == (whole / "summary.json").read_text()
    assert not (tmp_path / "state").exists()


class Crash(BaseException):
    """The end of the process, as far as the code under test can tell."""


def _crash_at(count: int, patch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Lets every write to disk go through until the count-th, which never returns."""
    seen = itertools.count()
    reached = 0

    def counted(real: Callable[..., Any], late: bool) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            nonlocal reached
            reached = next(seen)
            if reached == count and not late:
                raise Crash
            result = real(*arguments, **options)
            if reached == count:
                raise Crash
            return result

        return step

    patch.setattr(os, "fsync", counted(os.fsync, late=False))
    patch.setattr(os, "replace", counted(os.replace, late=True))
    patch.setattr(rb.Scorer, "snapshot", counted(rb.Scorer.snapshot, late=count % 2 == 0))
    patch.setattr(Path, "unlink", counted(Path.unlink, late=False))
    return lambda: reached


def test_a_crash_at_every_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_PIECE", 2)
    monkeypatch.setattr(plot, "available", lambda: False)  # drawing takes most of the time
    data = write_rows(
        tmp_path / "three.jsonl", [row | {"epochs": row["epochs"][:2]} for row in sample_rows()[:3]]
    )
    arguments = ["compare", "--data", str(data), "--methods", METHODS, "--sim", "--out"]
    assert main([*arguments, str(tmp_path / "whole")]) == 0
    want = rows(tmp_path / "whole" / "groups.jsonl")
    for count in itertools.count():
        out = tmp_path / f"crash{count}"
        with monkeypatch.context() as patch:
            _crash_at(count, patch)
            try:
                main([*arguments, str(out)])
            except Crash:
                pass
            else:
                break
        assert main([*arguments, str(out)]) == 0
        assert rows(out / "groups.jsonl") == want, f"after a crash at write {count}"
    assert count > 20, "the crashes did not reach the writes"


def test_resuming_scores_nothing_twice(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = itertools.count()
    real = rb.Scorer.score_group_async

    async def dies_at(self: rb.Scorer, *arguments: Any, **options: Any) -> rb.GroupResult:
        if next(calls) == 30:
            raise Crash
        return await real(self, *arguments, **options)

    arguments = ["compare", "--data", "sample", "--methods", METHODS, "--sim", "--out"]
    with monkeypatch.context() as patch:
        patch.setattr(rb.Scorer, "score_group_async", dies_at)
        with pytest.raises(Crash):
            main([*arguments, str(tmp_path)])
        calls = itertools.count(1000)
        assert main([*arguments, str(tmp_path)]) == 0
    # 30 groups were begun, the 24 of two whole epochs were kept.
    assert next(calls) - 1000 == 96 - 24
    assert rows(tmp_path / "groups.jsonl") == rows(whole / "groups.jsonl")


def test_failing_judges_resume_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures are drawn by how often a request was seen, which a new process does not know."""
    data = write_rows(tmp_path / "two.jsonl", sample_rows()[:2])
    # Pointwise asks the same again each time the file's epochs come around.
    arguments = ["compare", "--data", str(data), "--methods", "pointwise", "--epochs", "8"]
    arguments += ["--sim", "failure_rate=0.3,malformed_rate=0.2,max_retries=0", "--out"]
    main([*arguments, str(tmp_path / "whole")])
    # Which of several failures came first, which "error" tells, is a matter of time.
    want = rows(tmp_path / "whole" / "groups.jsonl", "error")
    statuses = [status for row in want for status in row["status"]]
    assert set(statuses) == {"ok", "judge_failed"}
    with monkeypatch.context() as patch:
        patch.setattr(scoring, "_counts_attempts", lambda _: False)
        main([*arguments, str(tmp_path / "control")])
    control = rows(tmp_path / "control" / "groups.jsonl", "error")
    assert control != want, "one judge for all groups would do, so nothing is shown"
    for died in (0, 3, 6):
        out = tmp_path / f"died{died}"
        with monkeypatch.context() as patch:
            _dies_after_snapshot(died, patch)
            with pytest.raises(Crash):
                main([*arguments, str(out)])
        main([*arguments, str(out)])
        assert rows(out / "groups.jsonl", "error") == want


def _dies_after_snapshot(count: int, patch: pytest.MonkeyPatch) -> None:
    snapshots = itertools.count()
    real = rb.Scorer.snapshot

    def dies(self: rb.Scorer, path: Path) -> None:
        real(self, path)
        if next(snapshots) == count:
            raise Crash

    patch.setattr(rb.Scorer, "snapshot", dies)


def test_interrupt_says_how_to_go_on(whole: Path, tmp_path: Path) -> None:
    arguments = ["compare", "--data", "sample", "--methods", METHODS, "--out", str(tmp_path)]
    process = start(*arguments, "--sim", "latency_ms=150")
    state = tmp_path / "state" / "0"
    wait_until(lambda: any(state.glob("*.zst")), process)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate()
    assert process.returncode == 130
    assert stderr == "rankbuffer compare: stopped; the same command goes on where it was\n"
    run(*arguments, "--sim")
    assert rows(tmp_path / "groups.jsonl") == rows(whole / "groups.jsonl")


def test_a_complete_run_is_shown_again(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (whole / "groups.jsonl").stat().st_mtime_ns
    assert (
        main(["compare", "--data", "sample", "--methods", METHODS, "--sim", "--out", str(whole)])
        == 0
    )
    assert (whole / "groups.jsonl").stat().st_mtime_ns == before
    assert "rankbuffer" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (["--methods", "rankbuffer"], "methods.pointwise"),
        (["--epochs", "5"], "epochs was 4, is now 5"),
        (["--sim", "sigma=2"], "judge.sigma was 0.0, is now 2"),
        (["--seed", "7"], "seed was 0, is now 7"),
    ],
)
def test_other_settings_are_refused(
    whole: Path, capsys: pytest.CaptureFixture[str], change: list[str], named: str
) -> None:
    arguments = ["compare", "--data", "sample", "--methods", METHODS, "--sim", "--out", str(whole)]
    assert main([*arguments, *change]) == 2
    message = capsys.readouterr().err
    assert named in message
    assert "use another --out" in message


def test_other_data_are_refused(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_rows(tmp_path / "other.jsonl", sample_rows()[:2])
    arguments = ["compare", "--data", str(data), "--methods", METHODS, "--sim", "--out", str(whole)]
    assert main(arguments) == 2
    assert "data.sha256 was" in capsys.readouterr().err


def test_results_of_somebody_else_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = tmp_path / "groups.jsonl"
    theirs.write_text("theirs\n")
    arguments = ["compare", "--data", "sample", "--methods", METHODS, "--sim", "--out"]
    assert main([*arguments, str(tmp_path)]) == 2
    assert "without run.json" in capsys.readouterr().err
    assert theirs.read_text() == "theirs\n"


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    arguments = ["compare", "--data", "sample", "--methods", METHODS, "--out", str(tmp_path)]
    process = start(*arguments, "--sim", "latency_ms=60000")
    wait_until(lambda: (tmp_path / "run.json").exists(), process)
    done = run(*arguments, "--sim", code=2)
    assert "another run is writing here" in done.stderr
    process.kill()
    process.communicate()


def test_failed_groups_give_exit_code_1(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "two.jsonl", sample_rows()[:2])
    done = run(
        *("compare", "--data", data, "--methods", "pointwise", "--out", tmp_path / "out"),
        *("--sim", "failure_rate=1,max_retries=0"),
        code=1,
    )
    head, reason = done.stderr.splitlines()
    assert head == "pointwise: why groups failed or are partial (the first error of each):"
    assert reason.startswith("  8 x ")
    assert "judge.failure_rate: this is a simulated failure" in reason
    figures = json.loads((tmp_path / "out" / "summary.json").read_text())["methods"]["pointwise"]
    assert figures["failed"] == figures["groups"] == 8
    for row in rows(tmp_path / "out" / "groups.jsonl"):
        assert set(row["status"]) == {"judge_failed"}
        assert set(row["advantages"]) == {0}


def test_what_a_method_lacks_is_found_before_anything_is_paid_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: Any, **__: Any) -> None:
        raise AssertionError("a group was scored")

    monkeypatch.setattr(rb.Scorer, "score_group_async", never)
    first, *others = sample_rows()
    bare = {name: value for name, value in first.items() if name != "rubrics"}
    without_rubrics = write_rows(tmp_path / "rubrics.jsonl", [*others, bare])
    without_ranked = write_rows(
        tmp_path / "ranked.jsonl", [*others, first | {"ranked_responses": []}]
    )
    out = tmp_path / "out"
    for data, method, lacks in (
        (without_rubrics, "gdpo", "rubrics: "),
        (without_rubrics, "explicit", "rubrics: "),
        (without_ranked, "agr", "ranked: "),
        (without_ranked, "prc", "reference: "),
    ):
        arguments = ["compare", "--data", str(data), "--sim", "--out", str(out)]
        assert main([*arguments, "--methods", f"pointwise,{method}"]) == 2
        message = capsys.readouterr().err
        assert message.startswith(f"rankbuffer compare: {method}: ")
        assert lacks in message
        assert not out.exists()


def test_position_bias_is_seen(tmp_path: Path) -> None:
    methods = "rankbuffer,scr,arena,tournament,listwise,prc,pointwise"
    found = {}
    for bias in (0, 3):
        out = tmp_path / str(bias)
        sim = ["--sim", f"position_bias={bias}"]
        arguments = ["compare", "--data", "sample", "--methods", methods, *sim]
        assert main([*arguments, "--out", str(out)]) == 0
        found[bias] = json.loads((out / "summary.json").read_text())["methods"]
    for label in methods.split(","):
        fair, biased = (found[bias][label]["position_bias"] for bias in (0, 3))
        if label == "pointwise":
            assert fair is biased is None
            continue
        comparisons = found[0][label]["position_bias_comparisons"]
        assert abs(fair) < 2 / comparisons**0.5, label
        assert biased > 0.15, label
        assert found[0][label]["position_bias_comparisons"] > 40


def test_a_unusual_option_is_named_once(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "two.jsonl", sample_rows()[:2])
    options = tmp_path / "options.json"
    options.write_text(
        json.dumps({"five": {"method": "scr", "votes": 5}, "one": {"method": "scr"}})
    )
    judge = rb.SimulatedJudge(qualities=qualities(read_replay(SAMPLE)))
    with rb.JudgeServer(judge) as server:
        arguments = ["compare", "--data", data, "--method-options", options]
        where = ["--base-url", server.url, "--model", "m", "--out", tmp_path / "out"]
        done = run(*arguments, *where)
        lines = done.stderr.splitlines()
        assert len(lines) == 1, lines
        assert lines[0].startswith("rankbuffer compare: warning: five: votes: 5 votes at ")
        # Where the options are the command's own there is one method, and no label.
        groups = write_groups(tmp_path / "groups.jsonl", epochs=1)
        done = run(
            *("score", groups, "-o", tmp_path / "out.jsonl", "--method", "scr"),
            *("--option", "votes=5", "--base-url", server.url, "--model", "m"),
        )
        lines = done.stderr.splitlines()
        assert len(lines) == 1, lines
        assert lines[0].startswith("rankbuffer score: warning: votes: 5 votes at ")


def test_the_table_fits_the_terminal(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = tmp_path / "options.json"
    long = "a label that is longer than there is room for"
    options.write_text(json.dumps({long: {"method": "scr"}, "b": {"method": "scr"}}))
    out = str(tmp_path / "out")
    arguments = ["compare", "--data", "sample", "--method-options", str(options), "--sim"]
    assert main([*arguments, "--out", out]) == 0
    capsys.readouterr()
    for width, shown in ((120, "cached"), (100, "prompt"), (80, "tau"), (60, "tau")):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main([*arguments, "--out", out]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert shown in lines[0]
        if width > 60:
            assert max(columns(line) for line in lines if out not in line) <= width
        assert lines[2].startswith("a label that is")


def test_a_text_that_answers_two_queries(tmp_path: Path) -> None:
    """Its quality is that under the query that is asked."""
    data, refusal = tmp_path / "data.jsonl", "I cannot help with that."
    queries = []
    for name, quality in (("harmless", -9.0), ("harmful", 9.0)):
        texts = [{"text": f"{name} {i}", "quality": float(i)} for i in range(4)]
        texts.append({"text": refusal, "quality": quality})
        ranked = sorted(texts, key=lambda text: -float(text["quality"]))  # type: ignore[arg-type]
        queries.append({"query_id": name, "query": f"A {name} question?", "epochs": [texts]})
        queries[-1]["ranked_responses"] = ranked
    data.write_text("".join(json.dumps(query) + "\n" for query in queries))
    out = tmp_path / "out"
    assert (
        main(["compare", "--data", str(data), "--methods", METHODS, "--sim", "--out", str(out)])
        == 0
    )
    for row in rows(out / "groups.jsonl"):
        assert row["rewards"][-1] == (max if row["query_id"] == "harmful" else min)(row["rewards"])
