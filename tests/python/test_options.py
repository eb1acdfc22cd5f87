"""What is stated twice, in Go and in Python, agrees; a test names the place that was forgotten."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import subprocess
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

import rankbuffer as rb
from rankbuffer import errors
from rankbuffer._options import Mark, options

ROOT = Path(__file__).parents[2]

JUDGES = {"openai": rb.Judge, "simulated": rb.SimulatedJudge}
CONFIGURATIONS = [rb.ScorerConfig, *JUDGES.values(), *rb.METHODS.values()]

IN_PYTHON = "python/rankbuffer/judges.py"
IN_GO = {"openai": "core/judge/options/judge.go", "simulated": "core/judge/sim/config.go"}

# Go reads the type and the qualities by functions of their own.
OWN_WAY = {"type", "qualities"}


@pytest.fixture(scope="module")
def in_go() -> dict[str, dict[str, Any]]:
    """The options of the judges with their defaults, as the library has them."""
    if shutil.which("go") is None:
        pytest.skip("asks Go")
    done = subprocess.run(
        ["go", "run", "./tests/options"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", IN_GO)
def test_options_of_judges_agree(name: str, in_go: dict[str, dict[str, Any]]) -> None:
    """tests/python/test_methods.py does the same for methods."""
    stated = options(JUDGES[name]).values()
    if name == "simulated":
        stated = [option for option in stated if Mark.CLIENT not in option.metadata]
    mine = {option.name: option.default for option in stated if option.name not in OWN_WAY}
    theirs = {k: default for k, default in in_go[name].items() if k not in OWN_WAY}
    assert theirs.keys() - mine.keys() == set(), f"{IN_PYTHON} lacks options of {name}"
    assert mine.keys() - theirs.keys() == set(), f"{IN_GO[name]} lacks options of {name}"
    for option, default in mine.items():
        # Go's zero stands for None, which Python leaves out.
        if default is not MISSING:
            assert (default or None) == (theirs[option] or None), (
                f"{name}.{option} is {theirs[option]!r} in {IN_GO[name]}, "
                f"{default!r} in {IN_PYTHON}"
            )


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
