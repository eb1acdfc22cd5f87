"""The rows of files, tables and loops: what is read, and what is said of a mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rankbuffer as rb
from rankbuffer.rows import (
    GroupRow,
    QueryRow,
    Response,
    parse_group,
    parse_prompt,
    parse_query,
    parse_side,
    query_id_of,
    read,
    read_groups,
)

QUERY: dict[str, Any] = {"query_id": "q", "query": "Why?"}
GROUP: dict[str, Any] = QUERY | {"responses": ["a", "b"]}


def test_lists_hold_texts_or_objects() -> None:
    row = parse_query(
        QUERY
        | {
            "rubrics": ["Short", {"text": "Clear", "weight": 2}, {"text": "True", "weight": None}],
            "ranked": ["a", {"text": "b", "quality": 1}, {"text": "c", "model": "m"}],
        }
    )
    assert row.rubrics == [rb.Rubric("Short"), rb.Rubric("Clear", 2.0), rb.Rubric("True")]
    assert row.ranked == [
        Response(text="a"),
        Response(text="b", quality=1.0),
        Response(text="c", model="m"),
    ]
    assert row.content() == {"query": "Why?", "rubrics": row.rubrics, "ranked": ["a", "b", "c"]}
    assert parse_query(QUERY | row.content() | {"ranked": row.ranked}) == row
    assert parse_query(QUERY | {"ranked_responses": ["a"]}).texts() == ["a"]


@pytest.mark.parametrize(
    "none", [{}, dict.fromkeys(("rubrics", "ranked", "reference")), {"rubrics": "", "ranked": " "}]
)
def test_what_is_not_given_is_empty(none: dict[str, Any]) -> None:
    row = parse_query(QUERY | none)
    assert row == QueryRow(query_id="q", query="Why?")
    assert row.content() == {"query": "Why?"}


def test_tables_say_nothing_with_nan() -> None:
    nan = float("nan")
    given = {"query": "Why?", "query_id": nan, "rubrics": nan, "ranked": nan, "reference": nan}
    assert parse_query(given) == QueryRow(query_id=query_id_of("Why?"), query="Why?")


def test_a_list_may_be_json_text_or_an_array() -> None:
    numpy = pytest.importorskip("numpy")
    rubrics = [{"text": "Clear", "weight": 2}]
    want = parse_query(QUERY | {"rubrics": rubrics, "ranked": ["a", "b"]})
    columns = {"rubrics": json.dumps(rubrics), "ranked": numpy.array(["a", "b"], dtype=object)}
    assert parse_query(QUERY | columns) == want
    columns = {"rubrics": numpy.array(rubrics, dtype=object), "ranked": ("a", "b")}
    assert parse_query(QUERY | columns) == want


def test_queries_without_an_id_are_named_after_their_content() -> None:
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    assert parse_query({"query": chat}).query_id == query_id_of(chat)
    lone = [{"role": "user", "content": [{"type": "text", "text": "u"}], "name": None}]
    assert parse_query({"query": lone}).query_id == parse_query({"query": "u"}).query_id
    assert parse_query({"query": "u", "query_id": 7}).query_id == "7"


def test_a_group_gives_the_arguments_of_score_group() -> None:
    row = parse_group(
        GROUP
        | {"reference": "r", "eligible": [True, False], "format_scores": [1, 0]}
        | {"epoch": 2, "step": None, "update": False, "deadline_ms": 1500}
    )
    assert row.arguments() == {
        "query_id": "q",
        "responses": ["a", "b"],
        "query": "Why?",
        "reference": "r",
        "eligible": [True, False],
        "format_scores": [1.0, 0.0],
        "epoch": 2,
        "update": False,
        "deadline": 1.5,
    }
    later = parse_group({"query_id": "q", "responses": ["a"]})
    assert later == GroupRow(query_id="q", responses=["a"])
    assert later.arguments() == {"query_id": "q", "responses": ["a"]}


@pytest.mark.parametrize(
    ("change", "field", "said", "code"),
    [
        ({"rankd": []}, "rankd", "known are .*; did you mean 'ranked'", "unknown_field"),
        ({"epochs": []}, "epochs", "unknown field.* `rankbuffer compare` reads", "unknown_field"),
        ({"query_id": ""}, "query_id", "missing", "missing_field"),
        (
            {"query_id": ["q"]},
            "query_id",
            "must be a string or a number, got list",
            "invalid_value",
        ),
        ({"query": 7}, "query", "must be a string or a list of chat messages", "invalid_value"),
        ({"ranked": {"a": 1}}, "ranked", "must be a list", "invalid_value"),
        ({"ranked": "[1"}, "ranked", "must be a list, or the JSON text of one", "invalid_value"),
        ({"ranked": ["a", 7]}, "ranked[1]", 'must be a string or {"text"', "invalid_value"),
        ({"ranked": [{"quality": 1}]}, "ranked[0].text", "missing", "missing_field"),
        ({"ranked": [{"text": "a", "q": 1}]}, "ranked[0].q", "unknown field", "unknown_field"),
        ({"ranked": [], "ranked_responses": []}, "ranked", "not both", "invalid_value"),
        ({"rubrics": [{"text": "a", "weight": 0}]}, "rubrics[0].weight", "0", "invalid_value"),
        ({"reference": 5}, "reference", "must be a string", "invalid_value"),
        ({"responses": []}, "responses", "at least 1 string", "invalid_value"),
        (
            {"responses": ["a", None]},
            "responses[1]",
            "must be a string, got NoneType",
            "invalid_value",
        ),
        ({"eligible": [True]}, "eligible", "each of the 2 responses", "invalid_value"),
        ({"eligible": [True, "no"]}, "eligible[1]", "true or false", "invalid_value"),
        ({"format_scores": [1, "x"]}, "format_scores[1]", "must be a number", "invalid_value"),
        ({"step": "x"}, "step", "must be an integer", "invalid_value"),
        ({"deadline_ms": "soon"}, "deadline_ms", "must be a number", "invalid_value"),
        ({"responses": ["\ud83d", "b"]}, "responses[0]", "lone surrogate U", "invalid_value"),
    ],
)
def test_a_mistake_names_file_line_and_field(
    tmp_path: Path, change: dict[str, Any], field: str, said: str, code: str
) -> None:
    path = tmp_path / "groups.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (GROUP, GROUP | change)))
    with pytest.raises(rb.InputError, match=said) as raised:
        list(read_groups(path))
    error = raised.value
    assert (error.field, error.code, error.file, error.line) == (field, code, str(path), 2)
    assert str(error).startswith(f"{path}:2: {field}: ")
    assert error.summary.startswith(f"{field}: ")


def test_the_first_group_of_a_query_describes_it(tmp_path: Path) -> None:
    path = tmp_path / "groups.jsonl"
    later = {"query_id": "q", "responses": ["c"]}
    path.write_text(json.dumps(GROUP) + "\n" + json.dumps(later) + "\n")
    assert [row.query for _, _, row in read_groups(path)] == ["Why?", ""]
    path.write_text(json.dumps(later) + "\n")
    with pytest.raises(rb.InputError, match=r"groups.jsonl:1: query: missing; the first group"):
        list(read_groups(path))
    path.write_text("")
    with pytest.raises(rb.InputError, match="holds no groups"):
        list(read_groups(path))


def test_tables_of_others_may_have_other_columns() -> None:
    info = QUERY | {"split": "train", "index": 3}
    assert parse_query(info, closed=False).query_id == "q"
    with pytest.raises(rb.InputError, match=r"extra_info\.ranked\[0\]") as raised:
        parse_query(info | {"ranked": [1]}, where="extra_info.", closed=False)
    assert raised.value.field == "extra_info.ranked[0]"


def test_a_side_file_adds_to_queries_that_stand_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "side.jsonl"
    path.write_text('{"query_id": "q", "ranked": ["a", "b"], "reference": "r"}\n')
    ((line, _, row),) = read(path, parse_side)
    assert (line, row.texts(), row.reference, row.query) == (1, ["a", "b"], "r", "")
    path.write_text('{"query_id": "q", "query": "Why?"}\n')
    with pytest.raises(rb.InputError, match=r"side\.jsonl:1: query: unknown field"):
        list(read(path, parse_side))


def test_messages_are_the_same_from_json_and_from_tables() -> None:
    call = {"type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    chat = [
        {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "text"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "2", "name": "add"},
    ]
    keys = {key for message in chat for key in message}
    table = [dict.fromkeys(keys) | message for message in chat]
    assert parse_query({"query": table}) == parse_query({"query": chat})
    assert parse_query({"query": chat}).query == [
        {"role": "user", "content": "Look\n"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "2"},
    ]


def test_the_library_reads_messages_alike() -> None:
    """What a trainer's prompt becomes here and what the library makes of it are one query."""
    image = [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "input_text", "text": "Hi"}]
    chat = [
        {"role": "system", "content": "Be brief.", "name": None},
        {"role": "user", "content": image},
        {"role": "user", "content": image[:1]},
        {"role": "assistant", "tool_calls": [{"name": "add", "arguments": {"a": 1}}]},
    ]
    with rb.Scorer(judge=rb.SimulatedJudge(qualities={})) as scorer:
        scorer.create_buffer("q", query=chat)
        scorer.create_buffer("q", query=parse_prompt(chat, multimodal="text"))  # no conflict
        assert scorer.buffer("q").query[2] == {"role": "user", "content": "[image]"}


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (5, "query[0].content"),
        ({"type": "text", "text": "hi"}, "query[0].content"),
        ([7], "query[0].content[0]"),
    ],
)
def test_content_of_another_type(content: Any, field: str) -> None:
    with pytest.raises(rb.InputError) as raised:
        parse_query({"query": [{"role": "user", "content": content}]})
    assert raised.value.field == field


def test_a_part_without_a_type_is_text() -> None:
    parts = [{"type": None, "text": "hi"}]
    assert parse_query({"query": [{"role": "user", "content": parts}]}).query == "hi"


def test_columns_of_tables() -> None:
    """Parquet gives every field, null where there is none, and numbers of numpy's."""
    numpy = pytest.importorskip("numpy")
    row = {"query_id": numpy.int64(3), "query": "Why?", "ranked": '["a", "b"]'}
    got = parse_query(row | {"ranked_responses": None})
    assert (got.query_id, got.texts()) == ("3", ["a", "b"])
    shared = {"query": "Why?", "rubrics": [{"text": "r", "id": 7}]}
    assert parse_query(shared, closed=False).rubrics[0].text == "r"
    with pytest.raises(rb.InputError, match="unknown field"):
        parse_query(shared)
    messages = numpy.array(
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    )
    assert len(parse_query({"query": messages}).query) == 2
