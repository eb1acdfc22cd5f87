"""The command line as a whole: exit codes, messages, pipes and terminals, the small commands."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest
from cli_tools import command, environment, run, sample_rows, start, write_groups, write_rows

import rankbuffer as rb
from rankbuffer.cli import main
from rankbuffer.cli.common.judge import identity
from rankbuffer.cli.common.options import options
from rankbuffer.cli.common.text import clip, columns, table

SIM = ["--sim", "--data", "sample"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of good and bad input."""
    path = tmp_path_factory.mktemp("files")
    query = sample_rows()[0]
    texts = [response["text"] for response in query["epochs"][0]]
    good = {"query_id": "q", "query": "Why?", "responses": texts}
    write_rows(path / "good.jsonl", [good])
    write_rows(path / "unknown-field.jsonl", [good, good | {"respones": []}])
    write_rows(path / "no-query.jsonl", [good, {"query_id": "p", "responses": texts}])
    write_rows(path / "no-responses.jsonl", [good, {"query_id": "q", "responses": []}])
    write_rows(path / "number.jsonl", [good, good | {"responses": [*texts, 7]}])
    write_rows(path / "eligible.jsonl", [good, good | {"eligible": [True]}])
    write_rows(path / "format.jsonl", [good, good | {"format_scores": [2] * len(texts)}])
    write_rows(path / "conflict.jsonl", [good, good | {"query": "Why not?"}])
    write_rows(path / "deadline.jsonl", [good, good | {"deadline_ms": "soon"}])
    (path / "torn.jsonl").write_text(json.dumps(good) + '\n{"query_id": ')
    (path / "latin1.jsonl").write_bytes(json.dumps(good).encode() + b'\n{"query_id": "\xe9"}\n')
    (path / "bom.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps(good).encode())
    (path / "utf16.jsonl").write_bytes(json.dumps(good).encode("utf-16"))
    (path / "half.jsonl").write_text(
        "".join(json.dumps(g) + "\n" for g in (good, good | {"responses": ["\ud83d"]}))
    )
    (path / "x_sur.jsonl").write_text(
        "".join(json.dumps(q) + "\n" for q in (query, query | {"query": "\udc00"}))
    )
    write_rows(path / "replay.jsonl", [good, query])
    write_rows(path / "ranked.jsonl", [good, good | {"ranked_responses": [], "ranked": []}])
    write_rows(path / "texts.jsonl", [query, query | {"ranked": ["best"]}])
    (path / "empty.jsonl").write_text("")
    (path / "list.json").write_text("[]")
    (path / "broken.json").write_text('{"a": \n}')
    (path / "typo.json").write_text('{"mine": {"method": "rankbuffer", "ko": 4}}')
    (path / "value.json").write_text('{"mine": {"method": "rankbuffer", "k0": 1}}')
    (path / "name.json").write_text('{"mine": {"name": "rankbuffer"}}')
    write_rows(path / "no-quality.jsonl", [_without_quality(query)])
    return path


def _without_quality(query: dict[str, object]) -> dict[str, object]:
    return query | {"epochs": [[{"text": "unjudged"}]]}


COMPARE = "compare --methods rankbuffer --out {out}"
SCORE = "score -o {out} --sim --data sample"
ENDPOINT = "--base-url http://127.0.0.1:9/v1 --model m"

BAD_USAGE = [
    ("", "COMMAND"),
    ("frobnicate", "invalid choice"),
    (SCORE + " {files}/unknown-field.jsonl", "unknown-field.jsonl:2: respones: unknown field"),
    (SCORE + " {files}/no-query.jsonl", "no-query.jsonl:2: query: missing"),
    (SCORE + " {files}/no-responses.jsonl", "no-responses.jsonl:2: responses: must be a list"),
    (SCORE + " {files}/number.jsonl", "number.jsonl:2: responses[6]: must be a string"),
    (SCORE + " {files}/eligible.jsonl", "eligible.jsonl:2: eligible: must be a list of one value"),
    (SCORE + " {files}/format.jsonl", "format.jsonl:2: "),
    (SCORE + " {files}/conflict.jsonl", "conflict.jsonl:2: "),
    (SCORE + " {files}/deadline.jsonl", "deadline.jsonl:2: deadline_ms: must be a number"),
    (SCORE + " {files}/torn.jsonl", "torn.jsonl:2: not JSON at column"),
    (SCORE + " {files}/latin1.jsonl", "latin1.jsonl:2: not UTF-8 at byte"),
    (SCORE + " {files}/empty.jsonl", "empty.jsonl: holds no groups"),
    (SCORE + " {files}/bom.jsonl", "bom.jsonl:1: begins with a byte order mark"),
    (SCORE + " {files}/utf16.jsonl", "utf16.jsonl:1: is UTF-16"),
    (SCORE + " {files}/half.jsonl", "half.jsonl:2: responses[0]: lone surrogate U+D83D"),
    (
        SCORE + " {files}/replay.jsonl",
        "a replay file, which `rankbuffer compare` reads",
    ),
    (
        SCORE + " {files}/ranked.jsonl",
        "ranked.jsonl:2: ranked: give ranked or ranked_responses, not both",
    ),
    ("score {files}/good.jsonl --sim --data sample -o {out}/x.jsonl", "no directory {out}; make"),
    ("score {files}/good.jsonl --sim --data sample -o {files}", "{files} is a directory"),
    ("rubrics {files}/good.jsonl --sim -o {out}/x.jsonl", "no directory {out}; make"),
    (SCORE + " {files}/good.jsonl --max-failures -1", "'-1' is not a whole number from 0"),
    (SCORE + " {files}/none.jsonl", "none.jsonl: cannot be read: No such file"),
    (SCORE + " {files}/good.jsonl --option k0", "'k0' is not of the form name=value"),
    (SCORE + " {files}/good.jsonl --option k0=1", "k0: need at least 2, got 1"),
    (SCORE + " {files}/good.jsonl --option ko=4", "method.rankbuffer.ko: unknown option"),
    (SCORE + " {files}/good.jsonl --option name=scr", "--method"),
    (SCORE + " {files}/good.jsonl --method best", "'best' is not one of rankbuffer, "),
    (SCORE + " {files}/good.jsonl " + ENDPOINT, "two judges"),
    ("score -o {out} {files}/good.jsonl", "which judge?"),
    ("score -o {out} {files}/good.jsonl --base-url http://x/v1", "--model"),
    ("score -o {out} {files}/good.jsonl --sim", "--sim needs --data"),
    ("score -o {out} {files}/good.jsonl --data sample " + ENDPOINT, "--data goes with --sim"),
    (
        "score -o {out} {files}/good.jsonl --api-key-env RB_TEST_NO_KEY " + ENDPOINT,
        "RB_TEST_NO_KEY is not set",
    ),
    (
        "score -o {out} {files}/good.jsonl --judge-option timeuot=3 " + ENDPOINT,
        "judge.timeuot: unknown option",
    ),
    (COMPARE + " --data {files}/none.jsonl --sim", "none.jsonl: cannot be read"),
    (COMPARE + " --data {files}/good.jsonl --sim", "good.jsonl:1: responses: unknown field"),
    (
        COMPARE + " --data {files}/good.jsonl --sim",
        "a file of groups, which `rankbuffer score` reads",
    ),
    (COMPARE + " --data {files}/texts.jsonl --sim", "texts.jsonl:2: ranked: give ranked or"),
    (COMPARE + " --data {files}/x_sur.jsonl --sim", "x_sur.jsonl:2: query: lone surrogate U+DC00"),
    ("compare --methods scr --data sample --sim --out {files}/good.jsonl", "good.jsonl is a file"),
    (COMPARE + " --data {files}/no-quality.jsonl --sim", "needs a quality for each response"),
    (COMPARE + " --data sample --sim sigmaa=1", "--sim: sigmaa: unknown option, known are sigma, "),
    (COMPARE + " --data sample --sim sigma=-1", "sigma"),
    (
        COMPARE + " --data sample --sim qualities=1",
        "--sim: qualities: unknown option, known are sigma, ",
    ),
    (COMPARE + " --data sample --sim sigma=1,sigma=2", "names an option twice"),
    (COMPARE + " --data sample --sim --epochs 0", "'0' is not a whole number from 1"),
    (
        COMPARE + " --data sample --sim --methods a,b",
        "--methods: a: method.name: 'a' is not one of",
    ),
    (COMPARE + " --data sample --sim --methods scr,scr", "'scr' is named twice"),
    (COMPARE + " --data sample --sim --methods scr,", "no name"),
    (COMPARE + " --data sample --sim --method-options {files}/list.json", "must hold {label:"),
    (
        COMPARE + " --data sample --sim --method-options {files}/broken.json",
        "broken.json:2: not JSON",
    ),
    (
        COMPARE + " --data sample --sim --methods mine --method-options {files}/typo.json",
        "typo.json: mine: method.rankbuffer.ko: unknown option",
    ),
    (
        COMPARE + " --data sample --sim --methods mine --method-options {files}/value.json",
        "k0: need at least 2, got 1",
    ),
    (
        COMPARE + " --data sample --sim --methods mine --method-options {files}/name.json",
        "mine: unknown option name",
    ),
    ("compare --data sample --sim --out {out}", "--methods: name some of rankbuffer"),
    ("inspect {files}/none.zst", "none.zst"),
    ("inspect {files}/good.jsonl", "not a RankBuffer file"),
    ("judge-sim --data {files}/no-quality.jsonl", "needs a quality"),
    ("judge-sim --data sample --sim sigma=x", "sigma"),
    ("demo --query-id nobody", "'nobody' is not in the sample; it has plants-july"),
    ("demo --k0 1", "k0: need at least 2, got 1"),
]


@pytest.mark.parametrize(("line", "complaint"), BAD_USAGE)
def test_bad_usage_and_input_give_exit_code_2(
    line: str,
    complaint: str,
    files: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    arguments = [
        part.replace("{files}", str(files)).replace("{out}", str(out)) for part in line.split()
    ]
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert complaint.replace("{files}", str(files)).replace("{out}", str(out)) in said.err
    assert "Traceback" not in said.err
    assert said.out == ""


@pytest.mark.parametrize("line", ["--help", "--version", "score --help", "compare --help"])
def test_help_gives_exit_code_0(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 0
    assert "rankbuffer" in capsys.readouterr().out


def test_nothing_is_written_for_bad_options(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["compare", "--data", "sample", "--out", str(out), "--sim", "--methods"]
    assert main([*arguments, "rankbuffer,nonsense"]) == 2
    assert not out.exists()


NOWHERE = ["--base-url", "http://127.0.0.1:9/v1", "--model", "m"]


def test_an_unreachable_endpoint_is_found_before_anything_is_written(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    arguments = ["compare", "--data", "sample", "--methods", "pointwise", "--out", out]
    assert main([*arguments, *NOWHERE]) == 2
    assert "127.0.0.1:9" in capsys.readouterr().err
    assert main([*arguments, "--sim"]) == 0, "other settings may follow"
    # A complete run is shown without its judge; only the settings must be right.
    assert main([*arguments, *NOWHERE]) == 2
    assert "judge.type was" in capsys.readouterr().err
    results = str(tmp_path / "results.jsonl")
    assert main(["score", str(files / "good.jsonl"), "-o", results, *NOWHERE]) == 2
    assert "127.0.0.1:9" in capsys.readouterr().err
    assert not Path(results).exists()


# Pipes and terminals.


def test_in_a_pipe_no_progress_and_no_colour(tmp_path: Path) -> None:
    groups = write_groups(tmp_path / "groups.jsonl")
    for arguments in (
        (
            "compare",
            "--data",
            "sample",
            "--methods",
            "rankbuffer",
            "--sim",
            "--out",
            tmp_path / "c",
        ),
        ("score", groups, "-o", tmp_path / "out.jsonl", *SIM),
        ("demo",),
    ):
        done = run(*arguments)
        assert done.stderr == ""
        assert "\x1b" not in done.stdout
        assert "\r" not in done.stdout
        lines = [line for line in done.stdout.splitlines() if str(tmp_path) not in line]
        assert all(columns(line) <= 100 for line in lines)


def _on_a_terminal(*arguments: str | Path, **env: str) -> str:
    """What a terminal of 80 columns receives."""
    terminal, side = pty.openpty()
    process = subprocess.Popen(
        command(*arguments),
        stdin=side,
        stdout=side,
        stderr=side,
        env=environment(COLUMNS="80", TERM="xterm", **env),
    )
    os.close(side)
    received = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        received += part
    os.close(terminal)
    assert process.wait() == 0, received
    return received.decode()


def test_on_a_terminal_progress_and_colour(tmp_path: Path) -> None:
    seen = _on_a_terminal(
        *("compare", "--data", "sample", "--methods", "rankbuffer", "--out", tmp_path / "out"),
        *("--sim", "latency_ms=30"),
    )
    assert "rankbuffer: 48/48 groups, 362 calls" in seen
    # The line is cleared before the table.
    assert seen.index("\r\x1b[Kmethod") > seen.index("48/48")
    seen = _on_a_terminal("demo")
    assert "\x1b[" in seen
    assert "\x1b[" not in _on_a_terminal("demo", NO_COLOR="1")


def test_a_reader_that_leaves_early(tmp_path: Path) -> None:
    process = start("demo")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    assert process.wait() == 1
    process.stderr.close()


# The small commands.


def test_inspect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "buffers.zst"
    judge = rb.SimulatedJudge(qualities={"good\x1b[2J": 2.0, "fair": 1.0, "bad": 0.0})
    with rb.Scorer(judge=judge) as scorer:
        scorer.create_buffer(
            "q",
            query="Why?",
            rubrics=[rb.Rubric("Says why.", weight=2)],
            ranked=["good\x1b[2J", "bad"],
        )
        scorer.create_buffer("empty", query="And?")
        scorer.score_group("q", ["fair", "fair"], epoch=4)
        scorer.snapshot(path)
    assert main(["inspect", str(path)]) == 0
    listing = capsys.readouterr().out
    assert "2 queries" in listing
    assert [line.split()[:4] for line in listing.splitlines()[3:]] == [
        ["empty", "0", "0", "0"],
        ["q", "2", "2", "1"],
    ]
    assert main(["inspect", str(path), "--query-id", "q"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown, "a response must not steer the terminal"
    assert "rubric, weight 2: Says why." in shown
    assert shown.index("good") < shown.index("bad"), "best first"
    assert "epochs seen: 4" in shown
    assert main(["inspect", str(path), "--query-id", "q", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == rb.inspect(path, "q")
    assert main(["inspect", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == rb.inspect(path)
    assert main(["inspect", str(path), "--query-id", "r"]) == 2
    assert '"r"' in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_judge_sim_serves_until_a_signal(number: signal.Signals) -> None:
    process = start("judge-sim", "--data", "sample", "--sim", "sigma=0")
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert url.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(f"{url}/models", timeout=30) as answer:
        assert json.load(answer)["data"]
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, "")


def test_judge_sim_names_a_port_in_use() -> None:
    process = start("judge-sim", "--data", "sample")
    assert process.stdout is not None
    port = process.stdout.readline().strip().removesuffix("/v1").rpartition(":")[2]
    done = run("judge-sim", "--data", "sample", "--port", port, code=2)
    assert port in done.stderr
    process.terminate()
    process.communicate()


# What the commands share.


def test_options() -> None:
    assert options("") == {}
    assert options("sigma=2, drift=0.5,seed=3") == {"sigma": 2, "drift": 0.5, "seed": 3}


def test_the_identity_of_a_judge_holds_no_secret() -> None:
    judge = rb.Judge(
        base_url="http://x/v1",
        model="m",
        api_key="secret",
        headers={"X-Key": "secret"},
        proxy="secret",
    )
    assert "secret" not in json.dumps(identity(judge))
    assert identity(judge)["model"] == "m"


@pytest.mark.parametrize(
    ("text", "width", "want"),
    [
        ("short", 10, "short"),
        ("just right", 10, "just right"),
        ("one more now", 10, "one more…"),
        ("two\n\n lines\t", 20, "two lines"),
        ("\x1b[31mred\x07", 20, "\ufffd[31mred\ufffd"),
        ("漢字漢字漢字", 7, "漢字漢…"),
        ("e\u0301" * 3, 3, "e\u0301" * 3),
        ("", 5, ""),
    ],
)
def test_clip(text: str, width: int, want: str) -> None:
    assert clip(text, width) == want
    assert columns(clip(text, width)) <= width


def test_table() -> None:
    assert table(("name", "n"), [("a", "10"), ("漢字漢字", "7")]) == [
        "name       n",
        "────────────",
        "a         10",
        "漢字漢字   7",
    ]
