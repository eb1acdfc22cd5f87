"""``compare --budget``: where a method stops, and that nothing but the groups decides it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from cli_tools import rows, sample_rows, write_rows

import rankbuffer as rb
from rankbuffer.cli import main
from rankbuffer.cli.common.options import UsageError
from rankbuffer.cli.compare import plot, scoring
from rankbuffer.cli.compare.budget import Budget

METHODS = "rankbuffer,pairwise"
BUDGET = 300_000


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Queries whose texts differ much in length, so that groups differ in cost."""
    queries = sample_rows()
    for i, query in enumerate(queries):
        for response in [*query["ranked_responses"], *itertools.chain(*query["epochs"])]:
            response["text"] += " and so on" * (20 * i)
    return write_rows(tmp_path_factory.mktemp("data") / "long.jsonl", queries)


def _compare(data: Path, out: Path, *more: str) -> dict[str, Any]:
    arguments = ["compare", "--data", str(data), "--methods", METHODS, "--sim", *more]
    assert main([*arguments, "--out", str(out)]) == 0
    summary: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return summary


def _tokens(row: dict[str, Any]) -> int:
    return int(row["tokens"]["prompt"] + row["tokens"]["completion"])


def _in_order(found: list[dict[str, Any]], data: Path) -> list[dict[str, Any]]:
    """By epoch, then query: the order in which they are taken."""
    ids = [json.loads(line)["query_id"] for line in data.read_text().splitlines()]
    return sorted(found, key=lambda row: (row["epoch"], ids.index(row["query_id"])))


def test_stops_where_the_budget_is_reached(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = _compare(data, tmp_path / "whole")
    assert whole["budget"] is None
    capsys.readouterr()
    summary = _compare(data, tmp_path / "some", "--budget", str(BUDGET))
    assert (summary["budget"], summary["groups"]) == (BUDGET, 48)
    shown = capsys.readouterr().out
    every, some = (rows(tmp_path / name / "groups.jsonl") for name in ("whole", "some"))
    for label in METHODS.split(","):
        offered = _in_order([row for row in every if row["method"] == label], data)
        scored = _in_order([row for row in some if row["method"] == label], data)
        # Those that came before the budget was reached, with the results they have without one.
        spent = list(itertools.accumulate(map(_tokens, offered)))
        last = next(i for i, tokens in enumerate(spent) if tokens >= BUDGET)
        assert scored == offered[: last + 1]
        figures = summary["methods"][label]
        assert figures["groups"] == last + 1
        assert figures["prompt_tokens"] + figures["completion_tokens"] == spent[last]
        assert f"{last + 1}/48" in shown
        assert f"{last + 1}/48" in (tmp_path / "some" / "report.html").read_text()
    assert len({figures["groups"] for figures in summary["methods"].values()}) == 2
    # The buffers are those after the last group.
    for row in some:
        if row["method"] == "rankbuffer" and row["epoch"] == 1:
            shown_row = rb.inspect(
                tmp_path / "some" / "buffers" / "rankbuffer.zst", row["query_id"]
            )
            assert [anchor["text"] for anchor in shown_row["anchors"]] == row["anchor_texts"]


def test_a_budget_above_all_costs_changes_nothing(data: Path, tmp_path: Path) -> None:
    whole = _compare(data, tmp_path / "whole")
    generous = _compare(data, tmp_path / "generous", "--budget", "1000000000")
    assert generous["methods"] == whole["methods"]


@pytest.mark.parametrize(
    "noise", ["sigma=1", "sigma=1,failure_rate=0.1,malformed_rate=0.2,max_retries=0"]
)
def test_the_same_groups_at_any_concurrency_and_after_any_death(
    data: Path, tmp_path: Path, noise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plot, "available", lambda: False)  # drawing takes most of the time
    more = ["--budget", str(BUDGET // 3)]
    arguments = ["compare", "--data", str(data), "--methods", METHODS, *more, "--out"]
    sim = ["--sim", noise]
    main([*arguments, str(tmp_path / "plain"), *sim])
    want = rows(tmp_path / "plain" / "groups.jsonl", "error")
    main([*arguments, str(tmp_path / "slow"), *sim, "--concurrency", "1"])
    assert rows(tmp_path / "slow" / "groups.jsonl", "error") == want

    real = scoring._score
    deaths = 0
    for count in itertools.count():
        calls = itertools.count()

        async def dies(*args: Any, calls: Any = calls, count: int = count) -> Any:
            if next(calls) == count:
                raise _Death
            return await real(*args)

        out = tmp_path / f"died{count}"
        with monkeypatch.context() as patch:
            patch.setattr(scoring, "_score", dies)
            try:
                main([*arguments, str(out), *sim])
            except _Death:
                deaths += 1
            else:
                break
        if count % 5 == 0:  # each resumption costs a run
            main([*arguments, str(out), *sim])
            assert rows(out / "groups.jsonl", "error") == want, f"died at piece {count}"
    assert deaths > 8


class _Death(BaseException):
    """The end of the process, as far as the code under test can tell."""


def test_another_budget_is_another_run(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _compare(data, tmp_path, "--budget", str(BUDGET))
    arguments = ["compare", "--data", str(data), "--methods", METHODS, "--sim", "--out"]
    assert main([*arguments, str(tmp_path), "--budget", "7"]) == 2
    assert "budget was 300000, is now 7" in capsys.readouterr().err


def _row(prompt: int, completion: int = 0, **fields: Any) -> dict[str, Any]:
    tokens = {"prompt": prompt, "completion": completion, "cached": 0}
    return {"tokens": tokens, "calls": {"pair": 1}, "group_status": "ok"} | fields


def test_room() -> None:
    budget = Budget(1000)
    assert budget.room([100] * 50) == 1, "nothing is known yet"
    budget.add(_row(90, 10), 100)  # a token a byte
    assert budget.room([100] * 50) == 1, "as many again"
    budget.add(_row(50), 100)
    budget.add(_row(50), 100)
    assert budget.room([100] * 50) == 3
    for _ in range(3):
        budget.add(_row(50), 100)
    assert budget.room([100] * 50) == 6, "650 are left"
    assert budget.room([300, 200, 200]) == 2
    assert budget.room([10_000]) == 1
    assert not budget.reached
    budget.add(_row(650), 650)
    assert budget.reached


def test_an_endpoint_that_counts_no_tokens_is_refused() -> None:
    budget = Budget(1000)
    budget.add(_row(0, group_status="failed"), 10)
    budget.add(_row(0, calls={}), 10)  # nothing to judge
    with pytest.raises(UsageError, match="does not say how many tokens"):
        budget.add(_row(0), 10)
