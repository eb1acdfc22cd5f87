"""``rankbuffer methods``: nothing is missing, and the calls it promises are the calls made."""

from __future__ import annotations

import dataclasses
import re

import pytest
from known_world import World

import rankbuffer as rb
from rankbuffer.cli import main
from rankbuffer.cli.common.text import columns
from rankbuffer.methods import METHODS, method_from_dict


def test_every_method_is_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (60, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main(["methods"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert max(map(columns, lines)) <= width
        assert [line.split()[0] for line in lines[1:] if not line.startswith(" ")] == list(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_every_option_is_told(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", name]) == 0
    shown = capsys.readouterr().out
    assert set(re.findall(r"^  (\w+) = ", shown, re.MULTILINE)) == {
        field.name for field in dataclasses.fields(METHODS[name])
    }
    assert METHODS[name].__name__ in shown
    assert f"with the defaults: {METHODS[name].calls}\n" in shown


def test_an_unknown_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "best"]) == 2
    assert "'best' is not one of rankbuffer, " in capsys.readouterr().err


@pytest.mark.parametrize("name", METHODS)
def test_the_calls_are_those_made(name: str, world: World) -> None:
    n, ranked = 8, world.ranked("q")
    group = world.group("q", *(q + 0.5 for q in range(n)))
    rubrics = ["Is right.", "Is short.", "Is kind."]
    with rb.Scorer(method=method_from_dict({"name": name}), judge=world.judge()) as scorer:
        result = scorer.score_group(
            "q", group, query="Why?", rubrics=rubrics, ranked=ranked, reference=ranked[3]
        )
    # Anchors 0, 2, 4 and 6: six of the eight fall into three intervals by twos, and two above.
    values = {"anchors": 7, "rubrics": 3, "repeats": 3 if name == "tournament" else 1, "n": n}
    formula = METHODS[name].calls.replace("intervals shared", "4")
    formula = re.sub(r"([0-9n])(?=[n(])", r"\1*", formula.replace(" x ", "*"))
    assert sum(result.calls.values()) == eval(formula, {}, values)
