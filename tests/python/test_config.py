"""Methods, judges and configurations as values: JSON, pickles, secrets, mistakes."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from known_world import World

import rankbuffer as rb

Build = Callable[..., rb.Scorer]


def test_a_method_has_one_name() -> None:
    assert [kind.__name__.lower() for kind in rb.METHODS.values()] == list(rb.METHODS)


@pytest.mark.parametrize("name", rb.METHODS)
def test_method_as_value(name: str) -> None:
    method = rb.METHODS[name]()
    assert method.to_json()["name"] == name
    assert rb.method_from_dict(method.to_json()) == method
    assert pickle.loads(pickle.dumps(method)) == method
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.dedupe = False
    # The papers' weights of the format reward.
    one = {"scr", "agr", "prc", "genrm", "tournament", "implicit", "explicit", "winrate"}
    assert method.format_weight == (1.0 if name in one else 0.2)


@pytest.mark.parametrize("name", rb.METHODS)
def test_library_knows_every_method_and_option(name: str, build: Build) -> None:
    """All options are sent, those that default to None with a value that fits."""
    fit: dict[str, Any] = {
        "max_anchors": 9,
        "freeze_after_epochs": 1,
        "manager": "llm",
        "format_check": "think_answer",
        "anchors": ["better", "worse"],
        "round_weights": [1, 0.5],
    }
    method = rb.METHODS[name]()
    for field in dataclasses.fields(method):
        if getattr(method, field.name) is None:
            method = dataclasses.replace(method, **{field.name: fit[field.name]})
    build(method).close()
    build(rb.METHODS[name]()).close()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"name": "rankbufer"}, "method.name: 'rankbufer' is not one of rankbuffer, scr"),
        ({}, "method.name: None"),
        ({"name": ["scr"]}, "method.name"),
        ({"name": "scr", "vote": 3}, r"method\.scr\.vote: unknown option, known are .*votes"),
    ],
)
def test_bad_method_mapping(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(rb.ConfigError, match=complaint):
        rb.method_from_dict(options)


@pytest.mark.parametrize(
    ("method", "complaint"),
    [
        (rb.RankBuffer(k0=1), "k0: need at least 2, got 1"),
        (rb.RankBuffer(k0="4"), "k0"),  # type: ignore[arg-type]
        (rb.RankBuffer(k0=2.5), "k0"),  # type: ignore[arg-type]
        (rb.RankBuffer(init="random"), "init"),  # type: ignore[arg-type]
        (rb.RankBuffer(max_anchors=1), "max_anchors"),
        (rb.RankBuffer(prune_after_epochs=0), "prune_after_epochs"),
        (rb.RankBuffer(freeze_after_epochs=0), "freeze_after_epochs"),
        (rb.RankBuffer(manager="me"), "manager"),  # type: ignore[arg-type]
        (rb.RankBuffer(format_check="xml"), "format_check"),  # type: ignore[arg-type]
        (rb.RankBuffer(format_weight=float("nan")), r"method\.format_weight: nan"),
        (rb.RankBuffer(format_weight=-0.5), "format_weight: need a number from 0 .*, got -0.5"),
        (
            rb.RankBuffer,
            r"method: must be an instance, such as rb\.RankBuffer\(\), got the class RankBuffer",
        ),
        ("rankbuffer", "method: must be an instance, .* got str"),
    ],
)
def test_bad_method_option_names_the_field(method: Any, complaint: str, build: Build) -> None:
    with pytest.raises(rb.ConfigError, match=complaint):
        build(method)


def test_votes_that_cannot_differ_are_warned_of() -> None:
    judge = rb.Judge(base_url="http://localhost:1/v1", model="m")
    with pytest.warns(rb.RankBufferWarning, match="votes: 3 votes at judge temperature 0"):
        rb.Scorer(method=rb.SCR(votes=3), judge=judge).close()
    warm = dataclasses.replace(judge, temperature=0.7)
    rb.Scorer(method=rb.SCR(votes=3), judge=warm).close()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"on_failure": "shrug"}, "on_failure"),
        ({"seed": "x"}, "seed"),
        ({"seed": 2**70}, "seed"),
        ({"reasoning": "<think>"}, "reasoning: must be a pair"),
        ({"reasoning": ("<think>", "")}, r"reasoning\.close"),
        ({"reasoning": 3}, "reasoning: must be a pair"),
        ({"max_response_bytes": 0}, "max_response_bytes: need at least 1, got 0"),
        ({"max_group_size": 0}, "max_group_size: need at least 1, got 0"),
        ({"max_groups": -1}, "max_groups: need at least 1, got -1"),
        ({"prompts": {"coarsest": "/dev/null"}}, "coarsest: .*the kinds are coarse, coarse_order"),
        ({"prompts": {"coarse": "/nonexistent/template"}}, "/nonexistent/template"),
        ({"prompts": {"coarse": "Place {{candidate}}."}}, "give the path of a file that holds the"),
        (
            {"prompts": {"coarse": 3}},
            r"prompts\.coarse: must be the path of a template file, got int",
        ),
        ({"prompts": ["x"]}, "prompts: must be a mapping of kind to path, got list"),
        ({"prompts": {"coarse": "/dev/null"}}, "/dev/null"),
        ({"judge": None}, "judge: must be a Judge or a SimulatedJudge, got NoneType"),
        ({"judge": rb.Judge}, "judge: must be a Judge or a SimulatedJudge, got the class Judge"),
    ],
)
def test_bad_scorer_option_names_the_field(options: dict[str, Any], complaint: str) -> None:
    given = {"judge": rb.SimulatedJudge(qualities={})} | options
    with pytest.raises((rb.ConfigError, rb.FileError), match=complaint):
        rb.Scorer(**given)


# Judges.


def test_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = rb.Judge(base_url="http://localhost:1/v1", model="m", api_key_env="MY_JUDGE_KEY")
    monkeypatch.setenv("MY_JUDGE_KEY", "s3cret")
    assert judge.to_json()["api_key"] == "s3cret"
    monkeypatch.delenv("MY_JUDGE_KEY")
    with pytest.raises(rb.ConfigError, match="environment variable MY_JUDGE_KEY is not set"):
        rb.Scorer(judge=judge)


def test_key_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_JUDGE_KEY", "s3cret")
    from_env = rb.Judge(base_url="http://localhost:1/v1", model="m", api_key_env="MY_JUDGE_KEY")
    inline = rb.Judge(base_url="http://localhost:1/v1", model="m", api_key="s3cret")
    with rb.Scorer(judge=from_env) as scorer:
        assert "s3cret" not in repr(scorer) + repr(scorer.config) + repr(scorer.stats())
        assert b"s3cret" not in pickle.dumps(scorer.config)
    assert "s3cret" not in repr(inline) + repr(rb.ScorerConfig(judge=inline))
    both = dataclasses.replace(inline, api_key_env="MY_JUDGE_KEY")
    for bad in (both, dataclasses.replace(inline, timeout=-1)):
        with pytest.raises(rb.ConfigError) as caught:
            rb.Scorer(judge=bad)
        assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"base_url": "localhost"}, "base_url"),
        ({"base_url": []}, "base_url"),
        ({"base_url": 7}, "base_url"),
        ({"model": ""}, "model"),
        ({"temperature": -1}, "temperature"),
        ({"temperature": float("inf")}, r"judge\.temperature: inf"),
        ({"timeout": -1}, r"judge\.timeout: need a finite number .* above 0, got -1"),
        ({"timeout": 0}, r"judge\.timeout: need a finite number .* above 0, got 0"),
        (
            {"group_timeout": -1},
            r"judge\.group_timeout: need a finite number .* above 0, got -1",
        ),
        (
            {"group_timeout": 0.0},
            r"judge\.group_timeout: need a finite number .* above 0, got 0",
        ),
        ({"backoff": 0}, r"judge\.backoff: need a finite number of seconds above 0, got 0"),
        ({"backoff_max": 0}, r"judge\.backoff_max: need a finite number of seconds above 0, got 0"),
        ({"max_concurrency": -1}, "max_concurrency"),
        ({"max_concurrency": 0}, r"judge\.max_concurrency: need at least 1, got 0"),
        ({"max_retries": -1}, "max_retries"),
        ({"proxy": "nonsense"}, "proxy"),
        ({"extra_body": {"messages": []}}, "extra_body"),
        ({"extra_body": {"a": {"b": object()}}}, r"judge\.extra_body\.a\.b: cannot use a value"),
        ({"headers": {"X-Y": "a\nb"}}, "headers"),
    ],
)
def test_bad_judge_option_names_the_field(options: dict[str, Any], complaint: str) -> None:
    good: dict[str, Any] = {"base_url": "http://localhost:1/v1", "model": "m"}
    with pytest.raises(rb.ConfigError, match=complaint):
        rb.Scorer(judge=rb.Judge(**(good | options)))


def test_every_judge_option_is_known_to_the_library() -> None:
    judge = rb.Judge(
        base_url=("http://localhost:1/v1", "http://localhost:2/v1"),
        model="m",
        api_key="k",
        max_tokens=99,
        seed=3,
        extra_body={"chat_template_kwargs": {"enable_thinking": False}},
        headers={"X-Team": "rl"},
        proxy="http://localhost:3",
        omit_temperature=True,
        system_role=False,
    )
    unset = [f.name for f in dataclasses.fields(judge) if getattr(judge, f.name) is None]
    assert unset == ["api_key_env"], "set the new option of the judge in this test"
    rb.Scorer(judge=judge).close()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"qualities": {"a": float("nan")}}, r"judge\.qualities\['a'\]: nan"),
        ({"qualities": {"a": "best"}}, r"judge\.qualities\['a'\]: must be a number, got str"),
        ({"qualities": ["a"]}, r"judge\.qualities: must be a mapping of text to quality, got list"),
        ({"timeout": 0}, r"judge\.timeout: need a finite number of seconds above 0, got 0"),
        ({"max_retries": -1}, r"judge\.max_retries: need at least 0, got -1"),
        ({"sigma": -1}, "sigma"),
        ({"failure_rate": 1.5}, "failure_rate"),
        ({"latency_ms": -1}, "latency_ms"),
    ],
)
def test_bad_simulated_judge(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(rb.ConfigError, match=complaint):
        rb.Scorer(judge=rb.SimulatedJudge(**({"qualities": {}} | options)))


def test_judge_from_mapping() -> None:
    assert rb.judge_from_dict({"base_url": "http://x", "model": "m"}) == rb.Judge(
        base_url="http://x", model="m"
    )
    simulated = rb.judge_from_dict({"type": "simulated", "qualities": {"a": 1}, "sigma": 2})
    assert simulated == rb.SimulatedJudge(qualities={"a": 1}, sigma=2)
    for options, complaint in [
        ({"type": "oracle"}, "judge.type: 'oracle' is not one of openai, simulated"),
        ({"model": "m", "url": "x"}, "judge.url: unknown option"),
        ({"model": "m"}, "judge.base_url: missing"),
    ]:
        with pytest.raises(rb.ConfigError, match=complaint):
            rb.judge_from_dict(options)


# Whole configurations.


def test_config_from_nested_mappings(world: World) -> None:
    config = rb.ScorerConfig.from_dict(
        {
            "method": {"name": "rankbuffer", "k0": 2},
            "judge": {"type": "simulated", "qualities": {"a": 1, "b": 0}},
            "seed": 7,
            "reasoning": ["<r>", "</r>"],
        }
    )
    assert config.method == rb.RankBuffer(k0=2)
    assert config.reasoning == ("<r>", "</r>")
    assert pickle.loads(pickle.dumps(config)) == config
    with rb.Scorer(config) as scorer:
        assert scorer.config == config
        assert scorer.score_group("q", ["a", "b"], query="?").ranks == [1, 0]
    with pytest.raises(rb.ConfigError, match="judge: missing"):
        rb.ScorerConfig.from_dict({})
    with pytest.raises(rb.ConfigError, match=r"sed: unknown option, known are .*seed"):
        rb.ScorerConfig.from_dict({"sed": 1})


def test_scorer_refuses_to_pickle_or_copy(query: Build) -> None:
    scorer = query()
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"pass scorer\.config"):
            attempt(scorer)


def test_results_pickle(world: World, query: Build) -> None:
    scorer = query()
    result = scorer.score_group("q", world.group("q", 1.5, 2.5))
    assert pickle.loads(pickle.dumps(result)) == result
    assert pickle.loads(pickle.dumps(scorer.buffer("q"))) == scorer.buffer("q")


def test_qualities_by_query() -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    no = "I cannot help with that."
    judge = rb.SimulatedJudge(
        qualities={
            "bomb?": {no: 9.0, "boom": 1.0},
            rb.shown_query(chat): {no: 1.0, "Hello": 5.0},
            "fair": 3.0,
        }
    )
    with rb.Scorer(judge=judge, method=rb.SCR()) as scorer:
        first = scorer.score_group("a", [no, "boom"], query="bomb?").rewards
        assert first[0] > first[1]
        second = scorer.score_group("b", [no, "Hello"], query=chat).rewards
        assert second[0] < second[1]
        other = scorer.score_group("c", [no, "fair"], query="What?")
        assert other.group_status == "failed"
