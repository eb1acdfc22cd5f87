"""What a user is told: each failure has its code, names the setting and can be logged."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import ten_errors
from ten_errors import Told

import rankbuffer as rb

# What happens, its code, and what the text must name.
EXPECTED: dict[Callable[[], Told], tuple[str, str]] = {
    ten_errors.wrong_key: ("judge_unauthorized", "judge.api_key"),
    ten_errors.unknown_model: ("judge_model_not_found", "judge.model"),
    ten_errors.context_overflow: ("judge_context_overflow", "max_anchors"),
    ten_errors.bad_row: ("invalid_value", "groups.jsonl:2: responses[1]: "),
    ten_errors.unknown_option: ("unknown_field", "judge.timeout_s: "),
    ten_errors.damaged_checkpoint: ("checkpoint_damaged", "buffers.zst"),
    ten_errors.judge_down: ("judge_unreachable", "judge.base_url"),
    ten_errors.timeout: ("judge_timeout", "judge.timeout"),
    ten_errors.no_verdict: ("judge_no_verdict", "no JSON object"),
    ten_errors.query_conflict: ("query_conflict", "query: "),
}

# What only endpoints and users said, and Go's own words for where an error was.
FOREIGN = ("Incorrect API key", "does not exist.", "5120", "Both are fine", "How?", "Why?")
PREFIXES = (
    "engine:",
    "judge: ",
    "rank:",
    "buffer:",
    "checkpoint: ",
    "invalid input",
    "rankbuffer:",
)


@pytest.mark.parametrize("provoke", ten_errors.TEN, ids=lambda provoke: provoke.__name__)
def test_one_of_ten(provoke: Callable[[], Told]) -> None:
    code, summary, text = provoke()
    expected, named = EXPECTED[provoke]
    assert code == expected
    assert named in text
    assert summary
    assert not any(words in summary for words in FOREIGN)
    assert not any(text.startswith(prefix) or f" {prefix}" in text for prefix in PREFIXES)
    assert "sk-12345" not in text


@pytest.mark.parametrize("kind", [rb.ConfigError, rb.InputError, rb.FileError, rb.JudgeError])
def test_an_error_as_a_value(kind: type[rb.RankBufferError]) -> None:
    """Ray and multiprocessing pickle what a worker raises."""
    error = kind("must be a text", "rubrics[0].text", code="invalid_value", file="a.jsonl", line=3)
    for same in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(same) is kind
        assert str(same) == same.detail == "a.jsonl:3: rubrics[0].text: must be a text"
        assert (same.code, same.field, same.file, same.line) == (
            "invalid_value", "rubrics[0].text", "a.jsonl", 3,
        )  # fmt: skip
        assert same.summary == "rubrics[0].text: this value cannot be used"


@pytest.mark.parametrize(
    ("field", "parent", "whole"),
    [("k0", "method", "method.k0"), ("[2].text", "rubrics", "rubrics[2].text"), ("", "j", "j")],
)
def test_an_error_within_another_field(field: str, parent: str, whole: str) -> None:
    error = rb.InputError("must be 2", field).within(parent, rb.ConfigError)
    assert type(error) is rb.ConfigError
    assert (str(error), error.field) == (f"{whole}: must be 2", whole)
    assert str(rb.InputError("must be 2", field).within()) == str(rb.InputError("must be 2", field))


def test_a_wrong_option_is_a_mistake_of_the_config(build: Any) -> None:
    """The same code is an InputError where a group is wrong."""
    with pytest.raises(rb.ConfigError, match="need at least 2, got 1") as caught:
        build(rb.RankBuffer(k0=1))
    assert (caught.value.code, caught.value.field) == ("invalid_value", "method.rankbuffer.k0")
    with pytest.raises(rb.InputError) as wrong:
        build().score_group("q", ["a", "b"], query="?", epoch=-1)
    assert (wrong.value.code, wrong.value.field) == ("invalid_value", "epoch")


def test_attributes_are_those_of_the_instance() -> None:
    """Ray's errors are made from these classes, and forward only what the classes lack."""
    for kind in (rb.RankBufferError, rb.JudgeError, rb.ConfigError):
        assert not {"code", "summary", "field", "file", "line"} & set(dir(kind))
