"""Reasoning, tool calls and turns with the tokenizers and chat templates that models have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from bytetok import QWEN_LIKE, tokenizer

import rankbuffer as rb
from rankbuffer.config import ScorerConfig
from rankbuffer.verl.config.settings import RendezvousSettings, Settings
from rankbuffer.verl.rollouts.rows import RowReader
from verl import DataProto

TAGS = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
KINDS = {"special": {"special": TAGS}, "added": {"plain": TAGS}, "spelled": {}}

QUESTION = [{"role": "user", "content": "What is 2 + 2? Füge nichts hinzu."}]
CALLS = "<think>\nI could ask.\n</think>\nI ask.\n<tool_call>\n{}\n</tool_call>"
ANSWER = "Es wäre 4. 好"


def row(fast: Any, prompt: list[int], response: list[int], turns: int) -> DataProto:
    tensors = {
        "prompts": torch.tensor([prompt]),
        "responses": torch.tensor([response]),
        "attention_mask": torch.ones(1, len(prompt) + len(response), dtype=torch.int64),
    }
    columns = {
        "raw_prompt": QUESTION,
        "extra_info": {"query_id": "q"},
        "uid": "u",
        "__num_turns__": turns,
        "prompt_len": len(prompt),
        "response_len": len(response),
    }
    return DataProto.from_dict(tensors, {k: objects(v) for k, v in columns.items()})


def objects(value: Any) -> Any:
    out = np.empty(1, dtype=object)
    out[0] = value
    return out


def read(
    fast: Any, response: str, *, tool: str | None = None, reasoning: Any = ..., **template: Any
) -> str:
    """A rollout as verl's agent loops put it together: with a tool, the call comes first."""

    def ids(messages: list[dict[str, str]]) -> list[int]:
        text = fast.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **template
        )
        return fast.encode(text, add_special_tokens=False)

    prompt, whole, turns = ids(QUESTION), ids(QUESTION), 2
    if tool is not None:
        before = [*QUESTION, {"role": "assistant", "content": CALLS}]
        whole, turns = ids([*before, {"role": "tool", "content": tool}]), 4
    whole += fast.encode(response + "<|im_end|>", add_special_tokens=False)
    config = ScorerConfig(judge=rb.SimulatedJudge(qualities={}))
    if reasoning is not ...:
        config = ScorerConfig(judge=config.judge, reasoning=reasoning)
    settings = Settings(scorer=config, rendezvous=RendezvousSettings())
    rollout = RowReader(fast, settings).read(row(fast, prompt, whole[len(prompt) :], turns))
    assert rollout.failure is None
    return rollout.text


def judged(text: str, answer: str = ANSWER) -> None:
    """The judge sees the answer alone: the simulated one knows no other text."""
    judge = rb.SimulatedJudge(qualities={answer: 1.0, "other": 0.0})
    with rb.Scorer(judge=judge, method=rb.Pairwise()) as scorer:
        result = scorer.score_group("q", [text, "other"], query="What?")
    assert (result.status, result.rewards) == (["ok", "ok"], [1, -1])


@pytest.fixture(params=KINDS)
def fast(request: pytest.FixtureRequest) -> Any:
    return tokenizer(**KINDS[request.param], template=QWEN_LIKE)


def test_what_the_tokenizer_skips_by_itself() -> None:
    """Why the tags must be kept by id."""
    special = tokenizer(special=TAGS)
    ids = special.encode("<think>a</think>b<|im_end|>", add_special_tokens=False)
    assert special.decode(ids, skip_special_tokens=True) == "ab"


def test_reasoning_is_left_for_the_scorer_to_take_out(fast: Any) -> None:
    text = read(fast, f"<think>\nsecret\n</think>\n\n{ANSWER}")
    assert text == f"<think>\nsecret\n</think>\n\n{ANSWER}"
    judged(text)


def test_reasoning_that_the_template_opened(fast: Any) -> None:
    text = read(fast, f"secret\n</think>\n\n{ANSWER}", opens=True)
    assert text == f"<think>secret\n</think>\n\n{ANSWER}"
    judged(text)
    assert read(fast, "secret that never ends", opens=True).startswith("<think>")
    assert read(fast, ANSWER, enable_thinking=False) == ANSWER


@pytest.mark.parametrize(
    ("template", "response"),
    [
        ({}, ANSWER),
        ({}, f"<think>\nsecret\n</think>\n{ANSWER}"),
        ({"opens": True}, f"secret\n</think>\n{ANSWER}"),
        ({"enable_thinking": False}, ANSWER),
    ],
)
def test_of_several_turns_the_last(fast: Any, template: dict[str, Any], response: str) -> None:
    text = read(fast, response, tool="the tool's output", **template)
    assert "tool" not in text
    assert "I ask" not in text
    assert "<|im_end|>" not in text
    judged(text)


def test_a_template_that_always_opens_reasoning() -> None:
    """Here the header of a turn, as it can be asked for, differs from those in rollouts."""
    always = "{% set opens = true %}" + QWEN_LIKE
    fast = tokenizer(special=TAGS, template=always)
    judged(read(fast, ANSWER, tool="the tool's output", enable_thinking=False))
    judged(read(fast, f"secret</think>{ANSWER}", tool="the tool's output"))


def test_tool_calls_are_no_answer(fast: Any) -> None:
    call = "<tool_call>\n{}\n</tool_call>"
    assert read(fast, f"{ANSWER}{call}", tool="x") == ANSWER
    assert read(fast, call, tool="x") == ""
    assert read(fast, "<tool_call>{", tool="x") == ""


def test_tags_of_several_special_tokens() -> None:
    """As gpt-oss has them; its tokens are kept where they make up a tag, and only there."""
    tokens = ["<|start|>", "<|end|>", "<|channel|>", "<|message|>", "<|return|>"]
    fast = tokenizer(special=tokens, template=QWEN_LIKE)
    tags = ("<|channel|>analysis<|message|>", "<|end|>")
    final = f"<|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>"
    text = read(fast, f"{tags[0]}secret{tags[1]}{final}", reasoning=tags)
    assert text == f"{tags[0]}secret{tags[1]}assistantfinal{ANSWER}"
    tags = (tags[0], "<|end|><|start|>assistant<|channel|>final<|message|>")
    text = read(fast, f"{tags[0]}secret<|end|>{final}", reasoning=tags)
    assert text == f"{tags[0]}secret{tags[1]}{ANSWER}"


def test_other_special_tokens_go_whatever_the_reasoning(fast: Any) -> None:
    assert read(fast, f"{ANSWER}<|im_start|>", reasoning=None) == ANSWER
    assert read(fast, f"{ANSWER}<|im_start|>", reasoning=("<a>", "</a>")) == ANSWER
