"""What is looked at before the start: the judge, the library's options, side files."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import rankbuffer as rb
from rankbuffer import _ffi
from rankbuffer.config import ScorerConfig
from rankbuffer.errors import InputError
from rankbuffer.rows import QueryRow
from rankbuffer.verl.config import start_check
from rankbuffer.verl.config.settings import Settings
from rankbuffer.verl.config.start_check import judge_problems, start_problems
from rankbuffer.verl.rollouts.queries import SideFile

NOTHING = (404, {"detail": "Not Found"})
YES = (200, {"choices": [{"message": {"role": "assistant", "content": "yes"}}]})
LISTED = (200, {"object": "list", "data": [{"id": "m"}]})


def refused(status: int, message: str, **more: str) -> tuple[int, Any]:
    return status, {"error": {"message": message, **more}}


@pytest.fixture
def endpoint() -> Iterator[Callable[..., str]]:
    """Serves one answer to the question for models, and one to that for a completion."""

    class Handler(BaseHTTPRequestHandler):
        answers: tuple[Any, Any] = (NOTHING, NOTHING)

        def do_GET(self) -> None:
            self.say(*(self.answers[0] if self.path == "/v1/models" else NOTHING))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.say(*(self.answers[1] if self.path == "/v1/chat/completions" else NOTHING))

        def say(self, code: int, body: Any) -> None:
            raw = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *args: Any) -> None:
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()

    def serve(models: Any, completion: Any) -> str:
        Handler.answers = (models, completion)
        return f"http://127.0.0.1:{made.server_port}/v1"

    yield serve
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.mark.parametrize(
    ("models", "completion"),
    [
        (LISTED, NOTHING),
        (NOTHING, YES),  # not every server lists its models
        ((405, {}), YES),
        ((200, "<html>"), YES),
        (refused(403, "no"), YES),  # a key for completions alone
        ((200, {"object": "list", "data": [{"id": "other"}]}), YES),  # routers
        (NOTHING, refused(429, "Rate limit reached")),
        (NOTHING, refused(400, "'max_tokens' is not supported, use 'max_completion_tokens'")),
    ],
)
def test_a_judge_that_is_there(endpoint: Any, models: Any, completion: Any) -> None:
    url = endpoint(models, completion)
    assert judge_problems(rb.Judge(base_url=url, model="m")) == []


@pytest.mark.parametrize(
    ("models", "completion", "override"),
    [
        (NOTHING, NOTHING, "judge.base_url="),  # a wrong path
        (refused(401, "who?"), YES, "judge.api_key_env="),
        (NOTHING, refused(403, "no"), "judge.api_key_env="),
        (
            (200, {"object": "list", "data": [{"id": "other"}]}),
            refused(404, "The model `m` does not exist."),
            "judge.model=",
        ),
        (NOTHING, refused(400, "Invalid model name passed in model=m"), "judge.model="),
        (NOTHING, refused(429, "over", code="insufficient_quota"), "no quota left"),
        (NOTHING, (503, "\x1b[31mdown"), "503"),
    ],
)
def test_one_that_would_fail_every_group(
    endpoint: Any, models: Any, completion: Any, override: str
) -> None:
    (found,) = judge_problems(rb.Judge(base_url=endpoint(models, completion), model="m"))
    assert found.startswith("reward.rankbuffer.judge: ")
    assert "+reward.rankbuffer.judge." in found
    assert override in found
    assert found.isprintable()


def test_one_of_several_that_is_not_there(endpoint: Any) -> None:
    urls = [endpoint(LISTED, YES), "http://127.0.0.1:9/v1"]
    (found,) = judge_problems(rb.Judge(base_url=urls, model="m"))
    assert "cannot reach" in found
    assert "127.0.0.1:9" in found
    assert "+reward.rankbuffer.judge.base_url=" in found


def test_a_simulated_judge_is_always_there() -> None:
    assert judge_problems(rb.SimulatedJudge(qualities={})) == []


def settings(side_file: Any = None, **options: Any) -> Settings:
    judge = rb.SimulatedJudge(qualities={})
    return Settings(scorer=ScorerConfig(judge=judge, **options), side_file=side_file)


def test_options_that_only_the_library_knows() -> None:
    assert start_problems(settings()) == []
    (found,) = start_problems(settings(method=rb.RankBuffer(k0=-1)))
    assert found == "reward.rankbuffer.method.rankbuffer.k0: need at least 2, got -1"
    (found,) = start_problems(settings(prompts={"coarse": "/no/such/file"}))
    assert "/no/such/file" in found


def test_the_library_is_not_loaded_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trainer's process forks its data loaders later."""

    def loaded() -> None:
        raise AssertionError("the library was loaded")

    monkeypatch.setattr(_ffi, "library", loaded)
    assert start_problems(settings()) == []


SIDE_ROWS = [
    ({"query_id": "q", "ranked": "not json"}, "ranked: must be a list, or the JSON text of one"),
    ({"query_id": "q", "ranked": ["a", 1]}, r"ranked\[1\]"),
    ({"query_id": "q", "ranked": ["only one"]}, "ranked: .*at least 2"),
    ({"query_id": "q", "ranked": ["a", "a"]}, r"ranked\[1\]: .*same"),
    ({"query_id": "q", "rubrics": [{"text": "x", "weight": "heavy"}]}, r"rubrics\[0\]\.weight"),
    ({"query_id": "q", "rubrics": [{"text": "x", "weight": -1}]}, r"rubrics\[0\]\.weight: -1"),
    ({"query_id": "q", "rubrics": {"text": "x"}}, "rubrics: must be a list"),
    ({"query_id": "q", "reference": 5}, "reference: must be a string"),
    ({"query_id": True}, "query_id: must be a string"),
    ({"query_id": "q", "rank": []}, "rank: unknown field"),
    ({"query_id": "p", "ranked": ["b", "a"]}, r"query_id: 'p' has other content in .*side.jsonl:1"),
]


@pytest.mark.parametrize(("row", "message"), SIDE_ROWS)
def test_rows_of_side_files(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    good = {"query_id": "p", "ranked": ["a", "b"], "rubrics": ["x"], "reference": "r"}
    path = tmp_path / "side.jsonl"
    path.write_text(json.dumps(good) + "\n" + json.dumps(good) + "\n")
    SideFile(str(path))
    path.write_text(json.dumps(good) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(InputError, match=rf"side\.jsonl:2: {message}"):
        SideFile(str(path))


def test_an_owner_reads_side_files_without_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its restart must not take as long as a check of every row."""

    def loaded() -> None:
        raise AssertionError("the library was loaded")

    monkeypatch.setattr(_ffi, "library", loaded)
    path = tmp_path / "side.jsonl"
    path.write_text('{"query_id": "q", "ranked": ["only one"]}\n')
    aside = SideFile(str(path), check=False).fill(QueryRow(query_id="q"))
    assert aside.texts() == ["only one"]


def test_a_check_that_takes_too_long_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_check, "_START_S", -29.99)
    (found,) = start_problems(settings())
    assert "the check before the start failed: it took more than" in found


def test_side_files_are_read_before_the_start(tmp_path: Path) -> None:
    path = tmp_path / "side.jsonl"
    path.write_text('{"query_id": "q", "ranked": "not json"}\n')
    (found,) = start_problems(settings(str(path)))
    assert found.startswith("reward.rankbuffer.side_file: ")
    assert "side.jsonl:1: ranked" in found


def test_a_side_file_of_training_and_one_of_validation(tmp_path: Path) -> None:
    train, test = tmp_path / "train.jsonl", tmp_path / "test.jsonl"
    train.write_text('{"query_id": "q", "ranked": ["a", "b"]}\n')
    test.write_text('{"query_id": "q", "ranked": ["b", "a"]}\n')
    with pytest.raises(InputError, match=r"test\.jsonl:1: query_id: 'q' .*train\.jsonl:1"):
        SideFile([str(train), str(test)])
