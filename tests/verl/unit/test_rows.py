"""From a row of verl's reward loop to what the judge sees."""

from __future__ import annotations

from typing import Any

import pytest
import world

from rankbuffer.errors import InputError
from rankbuffer.rows import QueryRow, parse_prompt, query_id_of
from rankbuffer.types import Rubric
from rankbuffer.verl.rollouts.queries import read_query
from rankbuffer.verl.rollouts.rows import RowReader, is_validation


class Tokens(list[int]):
    """As much of a tensor as is asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self),)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, Tokens):  # a mask
            return Tokens([t for t, keep in zip(self, at, strict=True) if keep])
        got = super().__getitem__(at)
        return Tokens(got) if isinstance(at, slice) else got

    def bool(self) -> Tokens:
        return self

    def sum(self) -> int:
        return sum(self)

    def tolist(self) -> list[int]:
        return list(self)


class Tokenizer:
    """A character is a token; "<", ">" and the role headers as ChatML has them."""

    special = ("<|im_start|>", "<|im_end|>", "<eos>")

    def __init__(self, opens_reasoning: bool = False) -> None:
        self.tail = "<think>\n" if opens_reasoning else ""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return [ord(c) for c in text]

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        text = "".join(chr(i) for i in ids)
        if skip_special_tokens:
            for special in self.special:
                text = text.replace(special, "")
        return text

    def apply_chat_template(
        self, messages: Any, tokenize: bool, add_generation_prompt: bool
    ) -> str:
        text = "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages)
        return text + (f"<|im_start|>assistant\n{self.tail}" if add_generation_prompt else "")


class Item:
    def __init__(self, response: str, prompt: str = "what?", pad: int = 0, **columns: Any) -> None:
        a, b = [ord(c) for c in prompt], [ord(c) for c in response]
        self.batch = {
            "prompts": Tokens([0] * pad + a),
            "responses": Tokens(b + [0] * pad),
            "attention_mask": Tokens([0] * pad + [1] * len(a) + [1] * len(b) + [0] * pad),
        }
        self.non_tensor_batch: dict[str, Any] = {
            "raw_prompt": [{"role": "user", "content": "what?"}],
            "extra_info": {"split": "train", "query_id": "q1"},
            "uid": "u1",
            **columns,
        }

    def __getitem__(self, at: Any) -> Any:
        return self


def read(item: Item, tokenizer: Any = None, **options: Any) -> Any:
    return RowReader(tokenizer or Tokenizer(), world.run_config(**options).settings).read(item)


def test_a_plain_row() -> None:
    got = read(Item("An answer.<eos>", session_id=3, global_steps=7))
    assert (got.text, got.uid, got.slot, got.step, got.validate) == (
        "An answer.", "u1", "s3", 7, False,
    )  # fmt: skip
    assert (got.query.query_id, got.query.query) == ("q1", "what?")


def test_padding_is_no_text() -> None:
    assert read(Item("An answer.", pad=5)).text == "An answer."


def test_several_outputs_have_their_lengths_beside_them() -> None:
    item = Item("An answer.")
    item.batch["responses"] = Tokens([*item.batch["responses"], 0, 0, 0])
    item.batch["prompts"] = Tokens([*item.batch["prompts"], 0, 0])
    item.non_tensor_batch.update(prompt_len=5, response_len=10)
    assert read(item).text == "An answer."


def test_an_empty_response() -> None:
    assert read(Item("")).text == ""
    assert read(Item("", pad=4)).text == ""


MULTI = (
    "Let me look.<tool_call>{}</tool_call><|im_end|>\n<|im_start|>tool\nsecret output<|im_end|>\n"
    "<|im_start|>assistant\nIt is 4.<|im_end|>"
)


def test_the_judge_sees_the_last_turn() -> None:
    got = read(Item(MULTI, __num_turns__=4))
    assert got.text == "It is 4."
    assert "secret" in read(Item(MULTI, __num_turns__=4), turns="all").text


def test_a_last_turn_that_only_calls_a_tool_is_no_answer() -> None:
    called = MULTI.replace("It is 4.", "<tool_call>{}</tool_call>")
    assert read(Item(called, __num_turns__=4)).text == ""
    unclosed = MULTI.replace("It is 4.", "<tool_call>{")
    assert read(Item(unclosed, __num_turns__=4)).text == ""


def test_a_single_turn_keeps_what_looks_like_a_header() -> None:
    text = "a<|im_start|>assistant\nb"
    assert read(Item(text, __num_turns__=2)).text.endswith("b")
    assert read(Item(text, __num_turns__=2)).text.startswith("a")


def test_reasoning_that_the_template_opened() -> None:
    prompt = "<|im_start|>assistant\n<think>\n"
    got = read(Item("because</think>So.", prompt), Tokenizer(opens_reasoning=True))
    assert got.text == "<think>because</think>So."
    got = read(Item("because it never ends", prompt), Tokenizer(opens_reasoning=True))
    assert got.text.startswith("<think>")  # hence no answer


def test_prompts_of_chat_messages() -> None:
    many = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert parse_prompt(many, multimodal="text") == many
    assert parse_prompt([{"role": "user", "content": "Hi"}], multimodal="text") == "Hi"
    parts = [{"type": "image", "image": b"..."}, {"type": "text", "text": "What is it?"}]
    assert (
        parse_prompt([{"role": "user", "content": parts}], multimodal="text")
        == "[image]\nWhat is it?"
    )
    with pytest.raises(InputError, match="multimodal=text"):
        parse_prompt([{"role": "user", "content": parts}], multimodal="refuse")
    with pytest.raises(InputError, match="no text"):
        parse_prompt([{"role": "user", "content": parts[:1]}], multimodal="text")
    with pytest.raises(InputError, match="return_raw_chat"):
        read_query({}, {}, "text")


def query_id(row: dict[str, Any], info: dict[str, Any], prompt: str) -> str:
    return read_query({**row, "raw_prompt": prompt}, info, "text").query_id


def test_query_ids() -> None:
    assert query_id({}, {"query_id": "x"}, "p") == "x"
    first = query_id({"data_source": "d"}, {"index": 3}, "p")
    assert first.startswith("d/3/")
    assert query_id({"data_source": "d", "index": 3}, {}, "p") == first
    assert query_id({"data_source": "d"}, {"index": 3}, "other prompt") != first
    assert query_id({}, {}, "p") == query_id_of("p") != query_id({}, {}, "q")
    assert query_id({}, {"query_id": float("nan")}, "p") == query_id_of("p")  # a table's None


def test_lists_as_parquet_and_json_have_them() -> None:
    def query(**info: Any) -> QueryRow:
        return read_query({"raw_prompt": "p"}, info, "text")

    want = [Rubric("Clear", weight=2.0), Rubric("Short", weight=1.0)]
    given = [{"text": "Clear", "weight": 2}, {"text": "Short", "weight": None}]
    assert query(rubrics=given).rubrics == want
    assert query(rubrics='[{"text": "Clear", "weight": 2}, "Short"]').rubrics == want
    assert query(ranked=None).texts() == query(ranked="").texts() == []
    assert query(ranked=("a", "b")).texts() == ["a", "b"]
    for weight in ("heavy", [1]):
        with pytest.raises(InputError, match=r"extra_info\.rubrics\[0\]\.weight"):
            query(rubrics=[{"text": "Clear", "weight": weight}])
    for bad in ("{", {"a": 1}, [1], 5):
        with pytest.raises(InputError, match=r"extra_info\.ranked"):
            query(ranked=bad)


def test_the_split_tells_validation() -> None:
    assert [is_validation(i) for i in ({}, {"split": "train"}, {"split": "test"})] == [
        False, False, True,
    ]  # fmt: skip


def test_a_split_that_may_be_meant_for_training_is_told(caplog: pytest.LogCaptureFixture) -> None:
    assert all(is_validation({"split": "training-2"}) for _ in range(3))
    assert caplog.text.count("extra_info.split is 'training-2'") == 1
    caplog.clear()
    assert is_validation({"split": "test"})
    assert not caplog.text


def test_a_row_that_cannot_be_scored_still_has_a_group() -> None:
    good = read(Item("x", session_id=1))
    bad = read(Item("x", session_id=1, extra_info={"query_id": "q1", "eligible": "no"}))
    assert (bad.failure, bad.key, bad.slot, bad.query) == ("rejected", good.key, "s1", good.query)
    broken = Item("x")
    del broken.batch["responses"]
    assert read(broken).failure == "error"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"raw_prompt": None}, "raw_prompt"),
        ({"extra_info": "text"}, "extra_info"),
        ({"extra_info": {"ranked": 5}}, "ranked"),
        ({"extra_info": {"rubrics": [5]}}, "rubrics"),
        ({"extra_info": {"reference": 5}}, "reference"),
    ],
)
def test_unusable_rows_say_why(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(Item("x", **columns))
