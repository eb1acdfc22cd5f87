"""Every command and code block of README.md and of the page on the Python API is run.

``make test`` is the exception: it runs this test, so only its target is looked
up. What stands in running text is looked up too: make targets and subcommands
exist, and ``pip install .`` is what tests/wheel does. Blocks about verl need
verl, and tests/verl/stack/test_pages.py runs them.
"""

from __future__ import annotations

import inspect
import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pages
import pytest
from cli_tools import rows

import rankbuffer as rb
from rankbuffer.cli import main

README = "README.md"
API = "python/rankbuffer/README.md"

# Every page that has blocks to run, and the test that runs them.
RUN_BY = {
    README: "tests/python/test_pages.py, tests/verl/stack/test_pages.py",
    API: "tests/python/test_pages.py",
    "python/rankbuffer/cli/README.md": "tests/python/test_page_cli.py",
    "python/rankbuffer/trl/README.md": "tests/trl/test_page_trl.py",
    "python/rankbuffer/verl/README.md": "tests/verl/stack/test_pages.py",
    "core/rank/README.md": "core/rank/page_test.go",
    "tests/bench/README.md": "",  # hours of benchmarks, by hand
}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return pages.shim(tmp_path)


def test_a_test_runs_each_page() -> None:
    done = subprocess.run(
        ["git", "ls-files", "*.md"], capture_output=True, text=True, cwd=pages.ROOT, check=False
    )
    if done.returncode:
        pytest.skip("not a git checkout")
    with_blocks = {
        page
        for page in done.stdout.split()
        if re.search(r"^```(sh|python|go)\n", pages.text(page), re.MULTILINE)
    }
    assert with_blocks <= set(RUN_BY)
    for page in with_blocks:
        for test in filter(None, RUN_BY[page].split(", ")):
            assert (pages.ROOT / test).exists(), f"{page}: {test} is to run its blocks"


def test_readme_fits_on_its_pages() -> None:
    assert pages.text(README).count("\n") <= 150


@pytest.mark.skipif(shutil.which("go") is None, reason="make demo builds the library with Go")
def test_make_commands(path: str) -> None:
    block = pages.blocks(README, "sh")[0]
    for line in block.splitlines():
        if line == "make test":
            assert re.search("pytest", pages.shell("make --dry-run test", path, pages.ROOT))
        else:
            assert "Epoch 4" in pages.shell(line, path, pages.ROOT)


@pytest.mark.parametrize("page", [README, API])
def test_python_block(page: str, tmp_path: Path) -> None:
    """It prints what its comments say."""
    block = pages.blocks(page, "python")[0]
    assert pages.python(block, tmp_path).splitlines() == pages.promised(block)


def test_loop_block(tmp_path: Path) -> None:
    _, block = pages.blocks(API, "python")
    texts = re.findall(r'"response": "(.*?)"', block)
    judge = rb.SimulatedJudge(qualities={text: float(i) for i, text in enumerate(texts)})
    with rb.JudgeServer(judge) as server:
        assert pages.ENDPOINT in block
        code = block.replace(pages.ENDPOINT, server.url) + "\nprint(rewards)\n"
        assert pages.python(code, tmp_path) == "[-1.0, 1.0]\n"
    assert (tmp_path / "buffers.zst").exists()


def test_compare_block(path: str, tmp_path: Path) -> None:
    _make, _prepare, _train, compare = pages.blocks(README, "sh")
    shown = pages.shell(compare, path, tmp_path)
    for method in ("rankbuffer", "pairwise", "pointwise"):
        assert re.search(rf"^{method} +48 ", shown, re.MULTILINE)


def test_what_it_says_of_tokens(tmp_path: Path) -> None:
    """The prompt tokens of a buffer against all pairs, on the sample."""
    (calls, pairs, above, cap, below) = re.search(  # type: ignore[union-attr]
        r"24 epochs\) RankBuffer takes ([\d.]+) calls a group against (\d+) for all pairs\. "
        r"From the fifth epoch on it takes ([\d.]+) times the prompt tokens of all pairs, "
        r"and with `max_anchors=(\d+)` ([\d.]+)",
        pages.text(README).replace("\n", " "),
    ).groups()
    options = tmp_path / "options.json"
    options.write_text(
        json.dumps(
            {
                "free": {"method": "rankbuffer"},
                "capped": {"method": "rankbuffer", "max_anchors": int(cap)},
                "pairwise": {},
            }
        )
    )
    arguments = ["compare", "--data", "sample", "--epochs", "24", "--sim"]
    out = tmp_path / "out"
    assert main([*arguments, "--method-options", str(options), "--out", str(out)]) == 0
    late, asked = Counter[str](), Counter[str]()
    for row in rows(out / "groups.jsonl"):
        asked[row["method"]] += sum(row["calls"].values())
        late[row["method"]] += row["tokens"]["prompt"] * (row["epoch"] >= 4)
    groups = 24 * 12
    assert (f"{asked['free'] / groups:.1f}", asked["pairwise"] / groups) == (calls, int(pairs))
    assert f"{late['free'] / late['pairwise']:.1f}" == above
    assert f"{late['capped'] / late['pairwise']:.1f}" == below


def test_what_the_text_names_exists(capsys: pytest.CaptureFixture[str], path: str) -> None:
    text = re.sub(r"^```.*?^```$", "", pages.text(README) + pages.text(API), flags=re.M | re.S)
    named = re.findall(r"`([^`\n]+)`", text)
    for code in named:
        words = code.split()
        if words[0] == "make":
            pages.shell(f"make --dry-run {words[1]}", path, pages.ROOT)
        elif words[0] == "rankbuffer" and words[1:]:
            assert main([words[1], "--help"]) == 0
    assert "pip install ." in named
    assert list((pages.ROOT / "tests" / "wheel").glob("test_*.py"))
    capsys.readouterr()


def test_links_lead_somewhere() -> None:
    for page in filter(lambda page: (pages.ROOT / page).exists(), RUN_BY):
        for target in re.findall(r"\]\(([^)#:]+)\)", pages.text(page)):
            assert ((pages.ROOT / page).parent / target).exists(), f"{page}: {target}"


def test_the_table_of_methods_is_that_of_the_command() -> None:
    assert {row[0]: row[1] for row in pages.table(API, "name")} == {
        name: kind.calls for name, kind in rb.METHODS.items()
    }, f"the table of methods in {API} is not that of the command"


def test_the_options_it_names_exist() -> None:
    names = re.findall(r"`(\w+)=", pages.text(README) + pages.text(API))
    known = {
        field
        for one in (rb.Judge, rb.ScorerConfig, *rb.METHODS.values())
        for field in one.__dataclass_fields__
    } | set(inspect.signature(rb.Scorer.score_group).parameters)
    assert names
    assert set(names) <= known
