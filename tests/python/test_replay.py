"""Reading replay files, and the sample that comes with the package."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import rankbuffer as rb
from rankbuffer.replay import SAMPLE, qualities, read_replay

ROW: dict[str, Any] = {
    "query_id": "q",
    "query": "Why?",
    "rubrics": [{"text": "Answers.", "weight": 2}],
    "ranked_responses": [
        {"text": "best", "quality": 1, "model": "m"},
        {"text": "worst", "quality": 0},
    ],
    "epochs": [[{"text": "a", "quality": 0.5}, {"text": "b"}]],
}


def _write(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_reads_what_was_written(tmp_path: Path) -> None:
    (query,) = read_replay(_write(tmp_path / "r.jsonl", ROW))
    assert query.query_id == "q"
    assert query.rubrics == [rb.Rubric("Answers.", weight=2)]
    assert [(r.text, r.quality, r.model) for r in query.responses()] == [
        ("best", 1.0, "m"),
        ("worst", 0.0, None),
        ("a", 0.5, None),
        ("b", None, None),
    ]


def test_gzip_is_told_by_content(tmp_path: Path) -> None:
    plain = _write(tmp_path / "r.jsonl", ROW)
    zipped = tmp_path / "no-such-ending"
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_replay(zipped) == read_replay(plain)


def test_messages_blank_lines_and_no_rubrics(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    row = {k: v for k, v in ROW.items() if k != "rubrics"} | {"query": messages}
    path = tmp_path / "r.jsonl"
    path.write_text(f"\n\r\n{json.dumps(row)}\r\n\n")
    (query,) = read_replay(path)
    assert query.query == messages
    assert query.rubrics == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"extra": 1}, "extra: unknown field"),
        ({"query_id": None}, "query_id: missing"),
        ({"query_id": ""}, "query_id: missing"),
        ({"query": 7}, "query"),
        ({"query": ""}, "query: holds no text"),
        ({"query": [{"role": "user"}]}, "query: holds no text"),
        ({"query": ["Why?"]}, "query[0]: must be a chat message"),
        ({"ranked_responses": "best"}, "ranked_responses: must be a list"),
        ({"ranked_responses": [{"quality": 1}]}, "ranked_responses[0].text: missing"),
        ({"ranked_responses": [{"text": 1}]}, "ranked_responses[0].text: must be a string"),
        ({"ranked_responses": [{"text": "x", "q": 1}]}, "ranked_responses[0].q: unknown field"),
        ({"epochs": []}, "epochs: must hold at least 1 epoch"),
        ({"epochs": [[{"text": "x"}], []]}, "epochs[1]: must hold at least 1 response"),
        ({"epochs": [[{"text": "x"}, 7]]}, "epochs[0][1]: must be"),
        ({"epochs": [[{"text": "x", "quality": "9"}]]}, "epochs[0][0].quality: must be a number"),
        ({"epochs": [[{"text": "x", "quality": True}]]}, "epochs[0][0].quality: must be a number"),
        (
            {"epochs": [[{"text": "x", "quality": 10**400}]]},
            "epochs[0][0].quality: inf is not a finite number",
        ),
        ({"epochs": [[{"text": "\ud800"}]]}, "epochs[0][0].text: lone surrogate U+D800"),
        ({"rubrics": [{"weight": 1}]}, "rubrics[0].text: missing"),
        ({"rubrics": [{"text": "x", "weight": 0}]}, "rubrics[0].weight: 0.0 is not above 0"),
    ],
)
def test_complaints_name_file_line_and_field(
    tmp_path: Path, change: dict[str, Any], complaint: str
) -> None:
    path = _write(tmp_path / "r.jsonl", ROW | {"query_id": "first"}, ROW | change)
    with pytest.raises(rb.InputError) as error:
        read_replay(path)
    assert str(error.value).startswith(f"{path}:2: {complaint}")


@pytest.mark.parametrize("field", ["query_id", "query", "ranked_responses", "epochs"])
def test_missing_fields(tmp_path: Path, field: str) -> None:
    path = _write(tmp_path / "r.jsonl", {k: v for k, v in ROW.items() if k != field})
    with pytest.raises(rb.InputError, match=f"r.jsonl:1: {field}: missing"):
        read_replay(path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "holds no queries"),
        (b"\n\n", "holds no queries"),
        (b"[1]\n", ":1: each line must hold one JSON object, got list"),
        (b'\n{"query_id": \n', ":2: not JSON at column"),
        (b'{"query_id": NaN}', ":1: not JSON: NaN is not a JSON value"),
        (b'{"query_id": "\xff"}', ":1: not UTF-8 at byte 15"),
        (b"\x1f\x8b\x08\x00junk", ":1: the gzip data is damaged"),
    ],
)
def test_not_a_replay_file(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    with pytest.raises(rb.InputError) as error:
        read_replay(path)
    assert f"{path}" in str(error.value)
    assert complaint in str(error.value)


def test_cut_gzip_and_missing_file(tmp_path: Path) -> None:
    whole = gzip.compress(SAMPLE.read_bytes())
    path = tmp_path / "r.jsonl.gz"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(rb.InputError, match="the gzip data is damaged"):
        read_replay(path)
    with pytest.raises(rb.InputError, match="cannot be read"):
        read_replay(tmp_path / "none")


def test_a_query_twice(tmp_path: Path) -> None:
    with pytest.raises(rb.InputError, match=r"r\.jsonl:2: query_id: 'q' was used on line 1"):
        read_replay(_write(tmp_path / "r.jsonl", ROW, ROW))


def test_qualities_must_be_there_and_agree(tmp_path: Path) -> None:
    queries = read_replay(_write(tmp_path / "r.jsonl", ROW))
    with pytest.raises(rb.InputError, match=r"needs a quality for each response.*'b'"):
        qualities(queries)
    both = ROW | {"epochs": [[{"text": "best", "quality": 3}]]}
    with pytest.raises(rb.InputError, match=r"1\.0 and 3\.0 for the same text 'best'"):
        qualities(read_replay(_write(tmp_path / "r.jsonl", both)))
    same_query = ROW | {"query_id": "p", "epochs": [[{"text": "best", "quality": 3}]]}
    whole = ROW | {"epochs": [[{"text": "a", "quality": 2}]]}
    with pytest.raises(rb.InputError, match=r"1\.0 and 3\.0 for the same text 'best'"):
        qualities(read_replay(_write(tmp_path / "r.jsonl", whole, same_query)))


def test_a_text_has_a_quality_under_each_of_its_queries(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How?"}]
    rows = []
    for name, query, good in (("p", "Why?", 2), ("q", chat, -1)):
        texts = [{"text": "No.", "quality": good}, {"text": name, "quality": 1}]
        rows.append({"query_id": name, "query": query, "ranked": texts, "epochs": [texts]})
    queries = read_replay(_write(tmp_path / "r.jsonl", *rows))
    found = qualities(queries)
    assert found == {
        "p": 1.0,
        "q": 1.0,
        "Why?": {"No.": 2.0},
        "system: Be brief.\n\nuser: How?": {"No.": -1.0},
    }
    with rb.Scorer(judge=rb.SimulatedJudge(qualities=found), method=rb.Pairwise()) as scorer:
        for row, rewards in zip(queries, ([1, -1], [-1, 1]), strict=True):
            texts = [response.text for response in row.epochs[0]]
            assert scorer.score_group(row.query_id, texts, query=row.query).rewards == rewards


def test_a_query_that_is_also_a_response(tmp_path: Path) -> None:
    texts = [{"text": "Why?", "quality": 2}, {"text": "No.", "quality": 1}]
    row = {"query_id": "q", "query": "Why?", "ranked": texts, "epochs": [texts]}
    found = qualities(read_replay(_write(tmp_path / "r.jsonl", row)))
    assert found == {"No.": 1.0, "Why?": {"Why?": 2.0}}


def test_the_sample_shows_a_policy_that_improves() -> None:
    queries = read_replay(SAMPLE)
    assert len(queries) == 12
    texts = [response.text for query in queries for response in query.responses()]
    assert len(set(texts)) == len(texts), "every text is distinct"
    assert len(qualities(queries)) == len(texts)
    assert any(not isinstance(query.query, str) for query in queries), "one query is a chat"
    for query in queries:
        assert query.rubrics is not None
        assert 3 <= len(query.rubrics) <= 4
        ranked = [response.quality or 0.0 for response in query.ranked]
        assert len(ranked) == 7
        assert ranked == sorted(ranked, reverse=True)
        epochs = [[response.quality or 0.0 for response in epoch] for epoch in query.epochs]
        assert [len(epoch) for epoch in epochs] == [6] * 4
        means = [sum(epoch) / len(epoch) for epoch in epochs]
        assert means == sorted(means), query.query_id
        assert min(min(epoch) for epoch in epochs) < ranked[-1], "some are worse than any anchor"
        assert max(max(epoch) for epoch in epochs) > ranked[0], "some are better"
