"""What is stated twice, in Go and in Python, agrees; a test names the place that was forgotten."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import rankbuffer as rb
from rankbuffer import errors
from rankbuffer._options import Mark, options

ROOT = Path(__file__).parents[2]
METHODS_PY = "python/rankbuffer/methods.py"
JUDGES_PY = "python/rankbuffer/judges.py"

CONFIGURATIONS = [rb.ScorerConfig, rb.Judge, rb.SimulatedJudge, *rb.METHODS.values()]


@pytest.fixture(scope="module")
def in_go() -> dict[str, dict[str, Any]]:
    """Methods and their options with defaults, as the library has them."""
    if shutil.which("go") is None:
        pytest.skip("asks Go")
    done = subprocess.run(
        ["go", "run", "./tests/options"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


def test_every_method_of_go_is_in_python(in_go: dict[str, dict[str, Any]]) -> None:
    for name in in_go:
        assert name in rb.METHODS, f"{METHODS_PY} has no class for the method {name}"
        assert hasattr(rb, rb.METHODS[name].__name__), f"__init__.py does not export {name}"


@pytest.mark.parametrize("name", rb.METHODS)
def test_options_of_a_method_agree(name: str, in_go: dict[str, dict[str, Any]]) -> None:
    assert name in in_go, f"core/rank/methods/registry.go has no row for the method {name}"
    mine = {f.name: f.default for f in fields(rb.METHODS[name])}
    for option, default in in_go[name].items():
        if option == "name":
            continue
        assert option in mine, f"{METHODS_PY}: {name} has no option {option}"
        # Python leaves out what is None; Go's zero stands for that.
        assert (mine[option] or None) == (default or None), (
            f"{name}.{option} is {default!r} in core/rank/methods, {mine[option]!r} in {METHODS_PY}"
        )
    for option in mine:
        assert option in in_go[name], f"core/rank/methods/{name}.go has no option {option}"


def test_options_of_the_judge_agree() -> None:
    source = (ROOT / "core/judge/options/fields.go").read_text()
    theirs = set(re.findall(r'^\t\{"(\w+)", "', source, re.MULTILINE))
    mine = {f.name: f.default for f in fields(rb.Judge)}
    assert theirs
    assert theirs <= set(mine), f"{JUDGES_PY} lacks an option of core/judge/options/fields.go"
    assert set(mine) <= theirs, f"core/judge/options/fields.go lacks an option of {JUDGES_PY}"
    filled = (ROOT / "core/judge/options/judge.go").read_text()
    defaults = re.findall(r"fill\(&o\.(\w+), ([\d.]+)\)", filled)
    assert len(defaults) > 3
    for name, default in defaults:
        option = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
        assert mine[option] == float(default), f"{option}: judge.go and {JUDGES_PY} differ"


def test_options_of_the_simulated_judge_agree() -> None:
    source = (ROOT / "core/judge/sim/config.go").read_text()
    theirs = set(re.findall(r'`json:"(\w+)"`', source))
    mine = {o.name for o in options(rb.SimulatedJudge).values() if Mark.CLIENT not in o.metadata}
    assert theirs - mine == set(), f"{JUDGES_PY} lacks an option of core/judge/sim/config.go"
    assert mine - theirs == set(), f"core/judge/sim/config.go lacks an option of {JUDGES_PY}"


@pytest.mark.parametrize("kind", CONFIGURATIONS)
def test_every_option_says_what_it_means(kind: type) -> None:
    described = options(kind)
    for field in fields(kind):
        assert field.name in described, f"{kind.__name__}.{field.name} has no help text"
        assert f"    {field.name}" in str(kind.__doc__)


@pytest.mark.parametrize("name", ["score_group", "score_group_async", "open_group"])
def test_every_parameter_is_told(name: str) -> None:
    method = getattr(rb.Scorer, name)
    stated = list(inspect.signature(method).parameters)[2:]
    assert {"query", "rubrics", "ranked", "epoch", "step", "deadline"} < set(stated)
    told = re.findall(r"^ {4}(\w+)", method.__doc__.partition("Options:\n")[2], re.MULTILINE)
    assert told == [parameter for parameter in stated if parameter not in ("expected", "responses")]


def test_summaries_are_those_of_the_library() -> None:
    source = (ROOT / "core/fault/codes.go").read_text()
    codes = dict(re.findall(r'^\t(\w+) +Code = "(\w+)"', source, re.MULTILINE))
    rows = re.findall(r'^\t\{(\w+), \w+, "(.*)"\}', source, re.MULTILINE)
    summaries = {codes[name]: summary for name, summary in rows}
    for code, summary in errors._SUMMARIES.items():
        if code != "library_unavailable":  # it is Python that says so
            assert summaries[code] == summary, f"{code}: codes.go and errors.py differ"
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    for kind in kinds:
        if issubclass(kind, rb.RankBufferError):
            assert kind("why").summary, f"errors.py has no summary for {kind.code}"


def test_a_wrong_keyword_is_named() -> None:
    judge = rb.SimulatedJudge(qualities={})
    with rb.Scorer(judge=judge) as scorer, pytest.raises(TypeError, match="'quary', known are que"):
        scorer.score_group("q", ["a"], quary="?")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="not both"):
        rb.Scorer(rb.ScorerConfig(judge=judge), seed=1)  # type: ignore[call-overload]
