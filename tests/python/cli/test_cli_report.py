"""The page that ``compare`` writes: whole, safe and readable."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from cli_tools import run, sample_rows, write_rows

from rankbuffer.cli import main
from rankbuffer.cli.compare import plot
from rankbuffer.cli.compare.report import INSTALL, write_report

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "$\\frac{1}{$ & ]]> -->",
    "two\nlines \x1b[2J \u202etfel",
    "a name that goes on and on, much longer than there is room for beside a mark",
]
SETTINGS: dict[str, Any] = {
    "rankbuffer": "0.0",
    "data": {"sha256": "0" * 64, "queries": 2},
    "epochs": 2,
    "budget": None,
    "judge": {"type": "simulated", "sigma": 2.0, "backoff": 0.5},
    "seed": 0,
}


def _figures(tokens: int = 1000, tau: float | None = 0.5, **more: Any) -> dict[str, Any]:
    return {
        "groups": 4,
        "calls": 8,
        "prompt_tokens": tokens,
        "completion_tokens": 10,
        "cached_tokens": 0,
        "kendall_tau": tau,
        "kendall_tau_judged": tau,
        "kendall_tau_error": None if tau is None else 0.05,
        "position_bias": None,
        "zero_spread_share": 0.0,
        "failed": 0,
        "partial": 0,
    } | more


def _buffer(epochs: int) -> dict[str, Any]:
    return _figures(
        mean_anchors_by_epoch=[4.0 + e for e in range(epochs)],
        anchor_sources_by_epoch=[
            {"ranked": 4.0, "left": e / 2, "llm": e / 2} for e in range(epochs)
        ],
    )


class _Page(HTMLParser):
    """What a browser makes of a page: its elements, and the text in them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}


def _page(path: Path, summary: dict[str, Any], **settings: Any) -> tuple[str, _Page]:
    assert write_report(path / "report.html", SETTINGS | settings, summary, 4)
    text = (path / "report.html").read_text(encoding="utf-8")
    return text, _Page(text)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, _Page]:
    """A page of methods whose names are out to get it."""
    summary = {label: _figures(1000 * 3**i, i / 9) for i, label in enumerate(HOSTILE)}
    summary["buffer"] = _buffer(4)
    summary[HOSTILE[0] + "!"] = _buffer(70)
    return _page(tmp_path_factory.mktemp("page"), summary)


def test_names_are_text_and_nothing_else(page: tuple[str, _Page]) -> None:
    text, found = page
    assert not {"script", "img", "image", "iframe", "link", "object", "b"} & found.tags
    assert not any(name.startswith("on") for _, attrs in found.elements for name in attrs)
    cells = [" ".join(t.split()) for t in found.texts]
    assert cells.count(HOSTILE[0]) >= 2, "in the plot and in the table"
    assert cells.count(HOSTILE[2]) >= 2, "dollars are no formula"
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", text)


def test_the_page_loads_nothing(page: tuple[str, _Page]) -> None:
    text, found = page
    for tag, attrs in found.elements:
        for name, value in attrs.items():
            if name in ("src", "href", "xlink:href", "action", "data"):
                assert value is not None and value.startswith("#"), (tag, name, value)  # noqa: PT018
    assert not re.search(r"url\((?!#)|@import", text)
    policy = next(a["content"] for t, a in found.elements if t == "meta" and "http-equiv" in a)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_references_within_the_page_hold(page: tuple[str, _Page]) -> None:
    text, found = page
    ids = [attrs["id"] for _, attrs in found.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    wanted = set(re.findall(r"url\(#([^)]*)\)", text)) | set(re.findall(r'"#([^"]+)"', text))
    assert wanted
    assert wanted <= set(ids)


def test_colours_follow_the_page(page: tuple[str, _Page]) -> None:
    """Light and dark: what is drawn has no colour of its own."""
    text, _ = page
    drawings = "".join(re.findall("<svg.*?</svg>", text, re.DOTALL))
    assert "currentColor" in drawings
    assert not re.search(r"(?:fill|stroke): ?(?!none|currentColor|var\()[#a-z]", drawings)
    assert set(re.findall(r"var\(--\w+\)", drawings)) <= set(
        re.findall(r"var\(--\w+\)", text.replace(drawings, ""))
    ) | {f"var(--s{k})" for k in range(plot.COLOURS)} | {"var(--rule)"}
    for k in range(plot.COLOURS):
        assert len(re.findall(f"--s{k}: #", text)) == 2, "one for light and one for dark"


def test_one_mark_a_method_and_a_panel_a_buffer(page: tuple[str, _Page]) -> None:
    _, found = page
    ids = {attrs.get("id") for _, attrs in found.elements}
    methods = len(HOSTILE) + 2
    assert {f"cost-mark{i}" for i in range(methods)} <= ids
    assert f"cost-mark{methods}" not in ids
    pictures = [attrs for tag, attrs in found.elements if tag == "svg"]
    assert len(pictures) == 3
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in pictures)
    assert "buffer: tau 0.500 ± 0.050, 252 tokens a group" in found.texts
    assert any(text.startswith("method") for text in found.texts)


@pytest.mark.parametrize(
    "summary",
    [
        {"one": _figures()},
        {"one": _figures(), "same": _figures()},
        {"failed": _figures(-10), "one": _figures()},  # no tokens at all
        {"far": _figures(10**9), "near": _figures(10), "flat": _figures(tau=0.0)},
        {
            "exact": _figures(tau=1.0, kendall_tau_error=0.0),
            "single": _figures(kendall_tau_error=None),
        },
        {"short": _buffer(1)},
    ],
    ids=lambda summary: "-".join(summary),
)
def test_whatever_the_figures(summary: dict[str, Any], tmp_path: Path) -> None:
    _, found = _page(tmp_path, summary)
    for i, label in enumerate(summary):
        assert f"cost-mark{i}" in {attrs.get("id") for _, attrs in found.elements}
        assert label in found.texts


def test_without_qualities(tmp_path: Path) -> None:
    _, found = _page(tmp_path, {"one": _figures(tau=None)})
    assert any("no qualities" in text for text in found.texts)
    assert "svg" not in found.tags


@pytest.mark.parametrize(
    ("more", "same"), [({}, True), ({"groups": 3}, False), ({"failed": 1}, False)]
)
def test_methods_are_compared_on_the_same_groups_or_not(
    tmp_path: Path, more: dict[str, Any], same: bool
) -> None:
    pytest.importorskip("matplotlib")
    _, found = _page(tmp_path, {"one": _figures(), "other": _figures(**more)})
    assert any("the same groups" in text for text in found.texts) is same


def test_it_says_who_judged(tmp_path: Path) -> None:
    _, found = _page(tmp_path, {"one": _figures()}, budget=12345)
    assert "simulated, sigma 2.0" in found.texts, "and nothing of what is as usual"
    assert "12,345 judge tokens a method" in found.texts
    real = {"type": "openai", "base_url": "http://x/v1", "model": "<m>", "temperature": 0.0}
    _, found = _page(tmp_path, {"one": _figures()}, judge=real)
    assert "base_url http://x/v1, model <m>" in found.texts


def test_equal_runs_give_equal_pages(tmp_path: Path) -> None:
    summary = {"one": _figures(), "buffer": _buffer(3)}
    texts = set()
    for name in "ab":
        (tmp_path / name).mkdir()
        texts.add(_page(tmp_path / name, summary)[0])
    assert len(texts) == 1


def test_without_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_rows(tmp_path / "two.jsonl", sample_rows()[:2])
    arguments = ["compare", "--data", str(data), "--methods", "rankbuffer", "--sim"]
    with monkeypatch.context() as patch:
        patch.setattr(plot, "available", lambda: False)
        assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr()
    assert INSTALL in told.out
    assert told.err == ""
    page = tmp_path / "out" / "report.html"
    found = _Page(page.read_text())
    assert INSTALL in found.texts
    assert "svg" not in found.tags
    assert "table" in found.tags
    # Once it is there, the same command adds what was missing.
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    assert INSTALL not in capsys.readouterr().out
    found = _Page(page.read_text())
    assert [tag for tag, _ in found.elements].count("svg") == 2


def test_the_page_of_somebody_else_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = tmp_path / "report.html"
    theirs.write_text("theirs")
    arguments = ["compare", "--data", "sample", "--methods", "rankbuffer", "--sim", "--out"]
    assert main([*arguments, str(tmp_path)]) == 2
    assert "without run.json" in capsys.readouterr().err
    assert theirs.read_text() == "theirs"


def test_it_is_drawn_by_the_command(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "two.jsonl", sample_rows()[:2])
    options = tmp_path / "options.json"
    options.write_text(json.dumps({name: {"method": "rankbuffer"} for name in HOSTILE}))
    done = run(
        *("compare", "--data", data, "--method-options", options),
        *("--sim", "--out", tmp_path / "out"),
    )
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert str(tmp_path / "out" / "report.html") in done.stdout
    assert "<svg" in (tmp_path / "out" / "report.html").read_text()
