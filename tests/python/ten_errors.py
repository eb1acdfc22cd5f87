"""Ten mistakes and mishaps that a user meets, each made to happen.

Run as a program it prints the error of each: code, summary and full text.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from endpoints import endpoint

import rankbuffer as rb
from rankbuffer.rows import read_groups

Told = tuple[str, str, str]
"""What one was told: the code, the summary and the full text."""


def judged(url: str, responses: tuple[str, ...] = ("a", "b"), **options: object) -> Told:
    """The error of a group that the endpoint judges."""
    judge = rb.Judge(base_url=url, model="my-judge", backoff=0.001, **options)  # type: ignore[arg-type]
    with rb.Scorer(judge=judge) as scorer:
        result = scorer.score_group("q", responses, query="What is good?")
    return result.error_code, result.error_summary, result.error


def raised(call: Callable[[], object], directory: str = "") -> Told:
    """The exception of a call, without the name of the directory in which it was made."""
    with pytest.raises(rb.RankBufferError) as caught:
        call()
    text = caught.value.detail
    return caught.value.code, caught.value.summary, text.replace(f"{directory}/", "")


def wrong_key() -> Told:
    with endpoint(401, "Incorrect API key provided: sk-12*45") as (url, _):
        return judged(url, api_key="sk-12345")


def unknown_model() -> Told:
    with endpoint(404, "The model `my-judge` does not exist.") as (url, _):
        return judged(url)


def context_overflow() -> Told:
    said = "This model's maximum context length is 4096 tokens, the request has 5120."
    with endpoint(400, said) as (url, _):
        return judged(url)


def bad_row() -> Told:
    with tempfile.TemporaryDirectory() as directory:
        groups = Path(directory) / "groups.jsonl"
        good = {"query_id": "q1", "query": "Why?", "responses": ["a", "b"]}
        bad = {"query_id": "q2", "query": "Why?", "responses": ["a", 7]}
        groups.write_text(f"{json.dumps(good)}\n{json.dumps(bad)}\n")
        return raised(lambda: list(read_groups(groups)), directory)


def unknown_option() -> Told:
    options = {"judge": {"base_url": "http://judge/v1", "model": "m", "timeout_s": 60}}
    return raised(lambda: rb.ScorerConfig.from_dict(options))


def damaged_checkpoint() -> Told:
    with tempfile.TemporaryDirectory() as directory, simulated() as scorer:
        path = Path(directory) / "buffers.zst"
        scorer.create_buffer("q", query="Why?", ranked=["a", "b", "c", "d"])
        scorer.snapshot(path)
        path.write_bytes(path.read_bytes()[:-40])
        return raised(lambda: scorer.restore(path), directory)


def judge_down() -> Told:
    return judged("http://127.0.0.1:9/v1", max_retries=0)  # nobody listens there


def timeout() -> Told:
    with endpoint(200, delay=60) as (url, _):
        return judged(url, timeout=0.05, max_retries=1)


def no_verdict() -> Told:
    with endpoint(200, answer="Both are fine, I think.") as (url, _):
        return judged(url, max_retries=1)


def query_conflict() -> Told:
    with simulated() as scorer:
        scorer.create_buffer("q", query="Why?")
        return raised(lambda: scorer.create_buffer("q", query="How?"))


def simulated() -> rb.Scorer:
    return rb.Scorer(judge=rb.SimulatedJudge(qualities={}))


TEN: tuple[Callable[[], Told], ...] = (
    wrong_key, unknown_model, context_overflow, bad_row, unknown_option,
    damaged_checkpoint, judge_down, timeout, no_verdict, query_conflict,
)  # fmt: skip


if __name__ == "__main__":
    for provoke in TEN:
        code, summary, text = provoke()
        print(f"{provoke.__name__}: {code}\n  {summary}\n  {text.strip()}\n")
