"""The simulated judge over HTTP, and endpoints that are not as they should be."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest
from endpoints import endpoint
from known_world import MIXED, MIXED_RANKS, World

import rankbuffer as rb

Build = Callable[..., rb.Scorer]


def _over_http(url: str, **options: object) -> rb.Scorer:
    judge = rb.Judge(base_url=url, model="sim", **options)  # type: ignore[arg-type]
    return rb.Scorer(judge=judge)


def test_http_gives_what_in_process_gives(world: World, query: Build) -> None:
    in_process = query(sigma=2.0, drift=1.0, position_bias=0.5)
    texts = world.group("q", *MIXED)
    expected = in_process.score_group("q", texts)
    server_judge = world.judge(sigma=2.0, drift=1.0, position_bias=0.5)
    with rb.JudgeServer(server_judge) as server, _over_http(server.url) as scorer:
        scorer.create_buffer("q", query="What is good?", ranked=world.ranked("q"))
        got = scorer.score_group("q", texts)
        assert scorer.buffer("q") == in_process.buffer("q")
    for result in (expected, got):
        del result.raw["latency_ms"]
    assert got.raw == expected.raw


def test_server_closes(world: World) -> None:
    server = rb.JudgeServer(world.judge())
    with urllib.request.urlopen(f"{server.url}/models") as answer:
        assert json.load(answer)["object"] == "list"
    server.close()
    server.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{server.url}/models")


def test_port_in_use(world: World) -> None:
    with rb.JudgeServer(world.judge()) as server:
        port = int(server.url.rsplit(":")[-1].split("/")[0])
        with pytest.raises(rb.FileError, match=str(port)):
            rb.JudgeServer(world.judge(), port=port)


def test_unreachableendpoint(world: World) -> None:
    with rb.JudgeServer(world.judge()) as server:
        url = server.url
    with _over_http(url, max_retries=1, backoff=0.001) as scorer:
        result = scorer.score_group("q", world.group("q", 1, 2), query="?")
    assert result.status == ["judge_failed"] * 2
    assert result.group_status == "failed"
    assert "connection refused" in result.error
    assert result.advantages == [0, 0]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "Incorrect API key provided"),
        (404, "The model `sim` does not exist"),
        (400, "This model's maximum context length is 4096 tokens"),
    ],
)
def test_refusals_are_told_and_not_retried(status: int, message: str, world: World) -> None:
    with endpoint(status, message) as (url, seen), _over_http(url, api_key="s3cret") as scorer:
        result = scorer.score_group("q", [*world.group("q", 1, 2), ""], query="?")
    assert result.status == ["judge_failed", "judge_failed", "empty"]
    assert message in result.error
    assert str(status) in result.error
    assert "s3cret" not in result.error
    assert len(seen) == 1  # one listwise call starts the buffer


def test_unreachable_with_policy_raise(world: World) -> None:
    judge = rb.Judge(base_url="http://127.0.0.1:9/v1", model="m", max_retries=0)
    with rb.Scorer(judge=judge, on_failure="raise") as scorer:
        with pytest.raises(rb.JudgeError, match=r"127\.0\.0\.1:9"):
            scorer.score_group("q", ["a", "b"], query="?")
        assert scorer.buffer("q").anchors == []


def test_server_does_not_pickle(world: World) -> None:
    import pickle

    with rb.JudgeServer(world.judge()) as server, pytest.raises(TypeError, match="pass its url"):
        pickle.dumps(server)


def test_ranks_survive_failures(world: World, query: Build) -> None:
    """Failed and malformed answers cost retries, not rewards."""
    scorer = query(failure_rate=0.2, malformed_rate=0.1, max_retries=20, backoff=0.0001)
    assert scorer.score_group("q", world.group("q", *MIXED)).ranks == MIXED_RANKS


def test_check_before_the_run(world: World, build: Build) -> None:
    build().check()  # a simulated judge in process always passes
    with rb.JudgeServer(world.judge()) as server:
        with rb.Scorer(judge=rb.Judge(base_url=server.url, model="simulated")) as scorer:
            scorer.check()
            server.close()
            with pytest.raises(rb.JudgeError, match="connection refused"):
                scorer.check()
        with pytest.raises(rb.ClosedError):
            scorer.check()


@pytest.mark.parametrize(
    ("status", "message"), [(401, "Incorrect API key provided"), (404, "The model does not exist")]
)
def test_check_tells_what_is_wrong(status: int, message: str) -> None:
    with endpoint(status, message) as (url, _), _over_http(url, api_key="s3cret") as scorer:
        with pytest.raises(rb.JudgeError, match=message) as caught:
            scorer.check()
        assert url in str(caught.value)
        assert "s3cret" not in str(caught.value)


def test_check_is_bounded() -> None:
    """An endpoint that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with _over_http(url) as scorer, pytest.raises(rb.JudgeError):
            scorer.check(deadline=0.05)
