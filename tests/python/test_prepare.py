"""JSON lines to parquet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankbuffer.cli import main
from rankbuffer.errors import InputError
from rankbuffer.prepare import Prepared, prepare
from rankbuffer.replay import SAMPLE, read_replay
from rankbuffer.rows import QueryRow, query_id_of
from rankbuffer.types import Rubric
from rankbuffer.verl.rollouts.queries import SideFile, read_query


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read_back(done: Prepared) -> list[QueryRow]:
    """As the reward manager reads the rows."""
    rows = pytest.importorskip("pyarrow.parquet").read_table(done.parquet).to_pylist()
    return [read_query({"raw_prompt": r["prompt"]}, r["extra_info"], "text") for r in rows]


def test_rows_read_back_as_the_manager_reads_them(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    source = write(
        tmp_path / "in.jsonl",
        {"query_id": "a", "query": "What?", "ranked": ["best", "worst"], "reference": "ref"},
        {
            "query": [{"role": "user", "content": "Why?"}],
            "rubrics": [{"text": "Clear", "weight": 2}],
        },
    )
    done = prepare(source, tmp_path / "out.parquet", split="test")
    assert (done.rows, done.ranked, done.side_file) == (2, 1, None)
    rows = pq.read_table(done.parquet).to_pylist()
    read = [read_query({"raw_prompt": r["prompt"]}, r["extra_info"], "text") for r in rows]
    assert [q.query_id for q in read] == ["a", query_id_of("Why?")]
    assert [q.query for q in read] == ["What?", "Why?"]
    assert [q.texts() for q in read] == [["best", "worst"], []]
    assert [q.rubrics for q in read] == [[], [Rubric("Clear", weight=2.0)]]
    assert [q.reference for q in read] == ["ref", None]
    assert {r["extra_info"]["split"] for r in rows} == {"test"}


def test_large_ranked_responses_go_aside(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    long = ["x" * 3000, "y" * 3000]
    source = write(tmp_path / "in.jsonl", {"query_id": "a", "query": "What?", "ranked": long})
    done = prepare(source, tmp_path / "out.parquet")
    assert done.side_file is not None
    row = pq.read_table(done.parquet).to_pylist()[0]
    assert row["extra_info"]["ranked"] == []
    query = read_query({"raw_prompt": row["prompt"]}, row["extra_info"], "text")
    assert SideFile(str(done.side_file)).fill(query).texts() == long
    inline = prepare(source, tmp_path / "inline.parquet", inline=True)
    assert inline.side_file is None


def test_a_replay_file_is_such_a_file(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    done = prepare(SAMPLE, tmp_path / "out.parquet", inline=True)
    rows = pq.read_table(done.parquet).to_pylist()
    want = [[r.text for r in q.ranked] for q in read_replay(SAMPLE)]
    assert [r["extra_info"]["ranked"] for r in rows] == want


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"query_id": "a"}, "in.jsonl:1: query: missing"),
        ({"query": "x", "rank": []}, "in.jsonl:1: rank: unknown field"),
        ({"query": "x", "ranked": [1]}, r"in.jsonl:1: ranked\[0\]"),
        ({"query": "x", "rubrics": [1]}, r"in.jsonl:1: rubrics\[0\]"),
        ({"query": "x", "reference": 1}, "in.jsonl:1: reference"),
        ({"query": " "}, "in.jsonl:1: query: holds no text"),
        (
            {
                "query": [
                    {"role": "user", "content": "x"},
                    {"role": "tool", "content": "", "name": "t"},
                ]
            },
            r"in.jsonl:1: query\[1\].name: cannot be written",
        ),
        ({"query": "x", "query_id": ["a"]}, "in.jsonl:1: query_id: must be"),
        ({"query": "x", "eligible": False}, "in.jsonl:1: eligible: unknown field"),
        ({"query": "x", "rubrics": [{"text": "a", "weight": "heavy"}]}, "rubrics.0..weight"),
        ({"query": "x", "ranked": ["only"]}, "in.jsonl:1: ranked: .*at least 2"),
        ({"query": "x", "ranked": ["a", "a"]}, r"in.jsonl:1: ranked\[1\]: .*same"),
        ({"query": "x", "ranked": ["a", " "]}, r"in.jsonl:1: ranked\[1\]: .*empty"),
    ],
)
def test_bad_rows_name_file_and_line(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare(write(tmp_path / "in.jsonl", row), tmp_path / "out.parquet")


def test_ids_of_two_files_differ_unless_the_query_is_the_same(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    train = write(tmp_path / "a.jsonl", {"query": "Why?"}, {"query": "How?"})
    test = write(tmp_path / "b.jsonl", {"query": "When?"}, {"query": "How?"})
    why, how = (q.query_id for q in read_back(prepare(train, tmp_path / "a.parquet")))
    when, same = (q.query_id for q in read_back(prepare(test, tmp_path / "b.parquet")))
    assert len({why, how, when}) == 3
    assert same == how == query_id_of("How?")


@pytest.mark.parametrize(
    ("other", "field"),
    [
        ({"query_id": "a", "query": "y"}, "query"),
        ({"query_id": "a", "query": "x", "ranked": ["p", "q"]}, "ranked"),
        ({"query_id": "a", "query": "x", "reference": "r"}, "reference"),
        ({"query_id": "a", "query": "x", "rubrics": ["Short"]}, "rubrics"),
    ],
)
def test_other_content_under_a_known_id_is_refused(
    tmp_path: Path, other: dict[str, Any], field: str
) -> None:
    first = {"query_id": "a", "query": "x"}
    with pytest.raises(InputError, match=rf"in\.jsonl:3: {field}: .*query_id 'a' on line 1"):
        prepare(write(tmp_path / "in.jsonl", first, first, other), tmp_path / "out.parquet")
    without = [{k: v for k, v in row.items() if k != "query_id"} for row in (first, other)]
    if field == "query":
        return
    with pytest.raises(InputError, match=rf"in\.jsonl:2: {field}: .*line 1.*query_id"):
        prepare(write(tmp_path / "in.jsonl", *without), tmp_path / "out.parquet")


def test_a_query_may_come_twice(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    row = {"query": "Why?", "ranked": ["x" * 3000, "y" * 3000]}
    done = prepare(write(tmp_path / "in.jsonl", row, row), tmp_path / "out.parquet")
    assert len({q.query_id for q in read_back(done)}) == 1
    assert done.side_file is not None
    assert len(done.side_file.read_text().splitlines()) == 1


def test_side_files_of_train_and_test_data_are_read_together(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    sides, queries = [], []
    for name, query in (("train", "Why?"), ("test", "When?")):
        long = [f"{name} {c}" * 1000 for c in "xy"]
        source = write(tmp_path / f"{name}.jsonl", {"query": query, "ranked": long})
        done = prepare(source, tmp_path / f"{name}.parquet", split=name)
        sides.append(str(done.side_file))
        queries.append((read_back(done)[0], long))
    both = SideFile(sides)
    assert [both.fill(query).texts() for query, _ in queries] == [long for _, long in queries]


def test_what_prepare_does_not_replace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "queries.jsonl"
    source.write_text('{"query": "Why?"}\n')
    for out, why in ((source, "is the source"), (Path("/dev/null"), "is not a regular file")):
        assert main(["prepare", str(source), "-o", str(out)]) != 0
        assert why in capsys.readouterr().err
    assert source.read_text() == '{"query": "Why?"}\n'
    assert not Path("/dev/null").is_file()


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    assert main(["prepare", str(tmp_path / "none"), "-o", str(tmp_path / "o")]) == 2
