"""JSON lines to parquet, and the overrides for verl."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankbuffer.cli import main
from rankbuffer.errors import ConfigError, InputError
from rankbuffer.loop import query_id_of
from rankbuffer.prepare import Prepared, prepare
from rankbuffer.replay import SAMPLE, read_replay
from rankbuffer.verl.config.inflight import enough_workers, fits
from rankbuffer.verl.config.overrides import overrides
from rankbuffer.verl.rollouts.queries import QueryData, SideFile, query_data


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read_back(done: Prepared) -> list[QueryData]:
    """As the reward manager reads the rows."""
    rows = pytest.importorskip("pyarrow.parquet").read_table(done.parquet).to_pylist()
    return [query_data({"raw_prompt": r["prompt"]}, r["extra_info"], "text") for r in rows]


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
    read = [query_data({"raw_prompt": r["prompt"]}, r["extra_info"], "text") for r in rows]
    assert [q.query_id for q in read] == ["a", query_id_of("Why?")]
    assert [q.prompt for q in read] == ["What?", "Why?"]
    assert [q.ranked for q in read] == [["best", "worst"], []]
    assert [q.rubrics for q in read] == [[], [{"text": "Clear", "weight": 2.0}]]
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
    query = query_data({"raw_prompt": row["prompt"]}, row["extra_info"], "text")
    assert SideFile(str(done.side_file)).fill(query).ranked == long
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


def test_side_files_of_train_and_test_data_are_read_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    sides, queries = [], []
    for name, query in (("train", "Why?"), ("test", "When?")):
        long = [f"{name} {c}" * 1000 for c in "xy"]
        source = write(tmp_path / f"{name}.jsonl", {"query": query, "ranked": long})
        done = prepare(source, tmp_path / f"{name}.parquet", split=name)
        sides.append(str(done.side_file))
        queries.append((read_back(done)[0], long))
    both = SideFile(sides)
    assert [both.fill(query).ranked for query, _ in queries] == [long for _, long in queries]
    lines = overrides(base_url="http://j/v1", model="m", side_files=sides)
    assert f"+reward.rankbuffer.side_file=[{sides[0]},{sides[1]}]" in lines
    given = ["verl-config", "--side-file", sides[0], "--side-file", sides[1]]
    assert main(given) == 0
    assert f"+reward.rankbuffer.side_file=[{sides[0]},{sides[1]}]" in capsys.readouterr().out


def test_overrides_have_enough_workers() -> None:
    lines = overrides(base_url="http://j/v1", model="m", batch=512, n=16, options={"k0": 7})
    count = enough_workers(512 * 16)
    assert f"reward.num_workers={count}" in lines
    assert fits(8192, count)
    assert not fits(8192, count - 1)
    assert "+reward.rankbuffer.method.k0=7" in lines
    assert enough_workers(100) == 1


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verl-config", "--model", "org/model", "--option", "k0=2", "--importlib"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "+reward.rankbuffer.judge.model=org/model" in printed
    assert "+reward.rankbuffer.method.k0=2" in printed
    assert "reward.reward_manager.module.path=pkg://rankbuffer.verl" in printed
    assert "trainer.use_v1=False" not in printed
    assert main(["verl-config", "--v0"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "trainer.use_v1=False" in printed
    assert "+hydra.callbacks.rankbuffer._target_=rankbuffer.verl.StartCheck" in printed
    assert main(["verl-config", "a=b"]) == 2
    assert "--check" in capsys.readouterr().err
    assert main(["prepare", str(tmp_path / "none"), "-o", str(tmp_path / "o")]) == 2


def test_a_whole_config_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    yaml = pytest.importorskip("yaml")
    config = {
        "reward": {
            "num_workers": 1,
            "reward_manager": {"name": "rankbuffer", "source": "register"},
            "rankbuffer": {"judge": {"base_url": "http://127.0.0.1:9/v1", "model": "m"}},
        },
        "actor_rollout_ref": {"rollout": {"n": 8}},
        "data": {"train_batch_size": 8},
        "trainer": {"use_v1": True, "v1": {"trainer_mode": "sync"}},
    }
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    assert main(["verl-config", "--check", "--config", str(path), "--no-probe"]) == 0
    assert "groups of 8" in capsys.readouterr().out
    assert main(["verl-config", "--check", "--config", str(path)]) == 2
    assert "cannot be reached" in capsys.readouterr().err
    config["reward"]["reward_manager"]["name"] = "naive"  # type: ignore[index]
    path.write_text(yaml.safe_dump(config))
    assert main(["verl-config", "--check", "--config", str(path)]) == 2
    assert "reward.reward_manager.name=rankbuffer" in capsys.readouterr().err


def test_overrides_are_read_by_verl() -> None:
    pytest.importorskip("verl")
    from rankbuffer.verl.config.overrides import check

    for importlib in (False, True):
        given = overrides(
            base_url="http://j/v1", model="org/it's a model", importlib=importlib, options={"k0": 7}
        )
        common = ["actor_rollout_ref.model.path=/m", "actor_rollout_ref.rollout.name=vllm"]
        found = check(None, [*common, *given], probe=False)
        assert found.settings.scorer.judge.model == "org/it's a model"  # type: ignore[union-attr]
    with pytest.raises(ConfigError, match="verl's configuration"):
        check(None, ["reward.rankbuffer.judge.model=m"], probe=False)


def test_what_prepare_does_not_replace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "queries.jsonl"
    source.write_text('{"query": "Why?"}\n')
    for out, why in ((source, "is the source"), (Path("/dev/null"), "is not a regular file")):
        assert main(["prepare", str(source), "-o", str(out)]) != 0
        assert why in capsys.readouterr().err
    assert source.read_text() == '{"query": "Why?"}\n'
    assert not Path("/dev/null").is_file()
