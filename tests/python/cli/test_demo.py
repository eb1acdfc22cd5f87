"""``rankbuffer demo``: what a person sees first."""

from __future__ import annotations

import re

import pytest

from rankbuffer.cli import main
from rankbuffer.cli.common.text import columns


def _demo(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["demo", *arguments]) == 0
    return capsys.readouterr().out


def _figures(shown: str, name: str) -> list[float]:
    """The row of the closing table that starts with the name."""
    (line,) = re.findall(rf"^{name} +([\d., ]+)$", shown, re.MULTILINE)
    return [float(number.replace(",", "")) for number in line.split()]


def test_the_buffer_grows_and_the_rewards_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    shown = _demo(capsys)
    epochs = re.split(r"^Epoch \d: 6 new responses$", shown, flags=re.MULTILINE)
    assert len(epochs) == 5, "an opening and four epochs"
    sizes = [len(re.findall(r"^ +\d+ ━━━ ", epoch, re.MULTILINE)) for epoch in epochs]
    assert sizes[0] == sizes[1] == 4, "the ranked answers"
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[1], "the buffer grows"
    for epoch in epochs[1:]:
        rewards = [float(r) for r in re.findall(r"^ +│ ([+-]\d\.\d\d) ", epoch, re.MULTILINE)]
        assert rewards == sorted(rewards, reverse=True), "best on top"
        assert (rewards[0], rewards[-1], len(rewards)) == (1, -1, 6)
    joined = re.findall(r"^ +│ [+-]\d\.\d\d  \+(\w+)", shown, re.MULTILINE)
    assert {"left", "right", "refine"} <= set(joined)


def test_the_price_against_all_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    shown = _demo(capsys)
    calls, tokens = _figures(shown, "judge calls"), _figures(shown, "judge tokens")
    pairs_calls, pairs_tokens, pairs_tau = (
        [float(n.replace(",", "")) for n in line.split()]
        for line in re.findall(r"^  all pairs +([\d., ]+)$", shown, re.MULTILINE)
    )
    assert pairs_calls == [12 * 15] * 4 + [4 * 12 * 15], "6 * 5 / 2 pairs a group"
    assert len(calls) == len(tokens) == 5
    assert calls[-1] == sum(calls[:-1]) < pairs_calls[-1]
    assert tokens[-1] == sum(tokens[:-1]) < pairs_tokens[-1]
    assert _figures(shown, "Kendall tau") == pairs_tau == [1.0] * 5
    progress = _figures(shown, "progress")
    assert progress == sorted(progress)


def test_any_query_and_noise(capsys: pytest.CaptureFixture[str]) -> None:
    assert "try `rankbuffer demo --sim" in " ".join(_demo(capsys).split())
    shown = _demo(capsys, "--query-id", "library-card", "--sim", "sigma=1,drift=1")
    assert "try `rankbuffer" not in " ".join(shown.split())
    assert "I can't borrow e-books any more" in shown
    assert "sigma 1, drift 1" in " ".join(shown.split())
    assert _figures(shown, "Kendall tau")[-1] < 1


@pytest.mark.parametrize("width", [64, 80, 100, 200])
def test_it_fits_the_terminal(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert max(columns(line) for line in _demo(capsys).splitlines()) <= width


def test_failing_judge_gives_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--sim", "failure_rate=1,max_retries=0"]) == 1
    shown = capsys.readouterr().out
    assert re.search(r"^Kendall tau( +-){5}$", shown, re.MULTILINE), "nothing was judged"
