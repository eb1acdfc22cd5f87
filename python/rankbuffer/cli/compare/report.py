"""The page of a comparison: one HTML file that needs nothing else, neither network nor script."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..._version import __version__
from ..._whole import write_whole
from ...judges import Judge, SimulatedJudge
from ..common.text import clean, clip, decimals
from . import plot
from .page import page
from .table import groups

INSTALL = "pip install 'rankbuffer[plot]'"

_HEAD = (
    "method", "groups", "calls", "prompt tokens", "completion tokens", "cached tokens",
    "tau", "± s.e.", "position bias", "no spread", "failed", "partial",
)  # fmt: skip

_NOTES = {
    "tau": (
        "Kendall's tau-b of reward against quality, the mean over the groups that did not fail; "
        "0 where undefined. "
        "The standard error takes the queries as the sample."
    ),
    "position bias": (
        "Share of comparisons won by the response that the judge was shown first, minus one half. "
        "Who is shown first is random, so an unbiased judge gives 0. "
        "There is none where each response is judged alone."
    ),
    "no spread": "Share of groups whose rewards are all equal, from which nothing is learnt.",
}


def write_report(
    path: Path, settings: Mapping[str, Any], summary: Mapping[str, Mapping[str, Any]], offered: int
) -> bool:
    """Writes the page; returns whether the plots are in it, for which matplotlib must be there."""
    drawn = plot.available()
    body = [
        "<h1>Reward methods compared</h1>",
        _settings(settings),
        *(_plots(summary) if drawn else [_without_plots()]),
        *_table(summary, offered),
        *(_anchor_plots(summary) if drawn else []),
        *_anchor_table(summary),
    ]
    with write_whole(path) as write:
        write(page("\n".join(body)))
    return drawn


def _text(value: object) -> str:
    return html.escape(clean(str(value)))


def _number(cell: str) -> str:
    """With a real minus sign; a dash stays for what there is not."""
    return "–" if cell == "-" else _text(cell).replace("-", "−")


def _settings(settings: Mapping[str, Any]) -> str:
    data, budget = settings["data"], settings["budget"]
    rows = {
        "data": f"{data['queries']:,} queries, {settings['epochs']:,} epochs, "
        f"sha256 {data['sha256'][:12]}",
        "judge": _judge(settings["judge"]),
        "seed": settings["seed"],
        "budget": None if budget is None else f"{budget:,} judge tokens a method",
        "RankBuffer": __version__,
    }
    return _definitions({name: value for name, value in rows.items() if value is not None})


def _definitions(rows: Mapping[str, Any]) -> str:
    items = (f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in rows.items())
    return f"<dl>{''.join(items)}</dl>"


def _judge(options: Mapping[str, Any]) -> str:
    """Who judged, with the options that are not the defaults."""
    kind = SimulatedJudge if options["type"] == "simulated" else Judge
    usual = {field.name: field.default for field in fields(kind)} | {"type": options["type"]}
    told = [f"{name} {value}" for name, value in options.items() if usual.get(name) != value]
    if kind is SimulatedJudge:
        return "simulated, " + (", ".join(told) or "without errors")
    return ", ".join(told)


def _without_plots() -> str:
    return (
        '<p class="soft">The plots are not here, as matplotlib is not installed: '
        f"<code>{_text(INSTALL)}</code>, then run the same command again.</p>"
    )


def _plots(summary: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    marks = [
        plot.Mark(
            label=label,
            tokens=(figures["prompt_tokens"] + figures["completion_tokens"]) / figures["groups"],
            tau=figures["kendall_tau_judged"],
            error=figures["kendall_tau_error"],
        )
        for label, figures in summary.items()
        if figures["kendall_tau_judged"] is not None
    ]
    yield "<h2>Quality and cost</h2>"
    if not marks:
        yield '<p class="soft">The data give no qualities to compare with.</p>'
        return
    note = "Up is better, left is cheaper. Bars are one standard error"
    judged = {figures["groups"] - figures["failed"] for figures in summary.values()}
    if judged == {max(figures["groups"] for figures in summary.values())}:
        note += "; how methods differ is known better than that, as all were given the same groups"
    yield f'<p class="soft">{note}.</p>'
    yield f'<div class="wide">{plot.cost_quality(marks)}</div>'


def _table(summary: Mapping[str, Mapping[str, Any]], offered: int) -> Iterator[str]:
    rows = {
        label: (
            groups(figures["groups"], offered),
            f"{figures['calls']:,}",
            f"{figures['prompt_tokens']:,}",
            f"{figures['completion_tokens']:,}",
            f"{figures['cached_tokens']:,}",
            decimals(figures["kendall_tau_judged"]),
            decimals(figures["kendall_tau_error"]),
            decimals(figures["position_bias"], "+.3f"),
            f"{figures['zero_spread_share']:.1%}",
            f"{figures['failed']:,}",
            f"{figures['partial']:,}",
        )
        for label, figures in summary.items()
    }
    yield "<h2>Figures</h2>"
    yield _html_table(_HEAD, rows.items())
    yield _definitions(_NOTES)


def _html_table(head: Iterable[str], rows: Iterable[tuple[str, Iterable[str]]]) -> str:
    """A table of labels and cells that scrolls where the page is too narrow."""
    body = []
    for label, cells in rows:
        values = "".join(f"<td>{_number(cell)}</td>" for cell in cells)
        body.append(f'<tr><th scope="row">{_text(label)}</th>{values}</tr>')
    names = "".join(f'<th scope="col">{_text(name)}</th>' for name in head)
    return (
        f'<div class="wide"><table><thead><tr>{names}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _anchor_plots(summary: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Anchors by epoch, one panel for each method that keeps buffers, all with the same axis."""
    curves = {
        label: figures for label, figures in summary.items() if "mean_anchors_by_epoch" in figures
    }
    if not curves:
        return
    top = max(count or 0.0 for f in curves.values() for count in f["mean_anchors_by_epoch"])
    if not top:
        return  # all groups failed
    present = {
        s for figures in curves.values() for by in figures["anchor_sources_by_epoch"] for s in by
    }
    yield "<h2>Anchors by epoch</h2>"
    yield (
        '<p class="soft">The curve is the mean number of anchors after each epoch; '
        "bars say where its anchors came from.</p>"
    )
    yield '<ul class="key">'
    yield "".join(
        f'<li><i style="background: var(--s{colour})"></i>{_text(source)}</li>'
        for source, colour in plot.SOURCES.items()
        if source in present
    )
    yield '</ul><div class="grid">'
    for i, (label, figures) in enumerate(curves.items()):
        svg = plot.anchors_by_epoch(
            f"anchors{i}",
            label,
            figures["mean_anchors_by_epoch"],
            figures["anchor_sources_by_epoch"],
            top,
        )
        yield f"<figure><figcaption>{_text(clip(label, 60))}</figcaption>{svg}</figure>"
    yield "</div>"


def _anchor_table(summary: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The numbers behind the panels."""
    curves = {k: f for k, f in summary.items() if "mean_anchors_by_epoch" in f}
    if not curves:
        return
    epochs = max(len(figures["mean_anchors_by_epoch"]) for figures in curves.values())
    rows = (
        (name, [decimals(count, ".2f") for count in counts])
        for label, figures in curves.items()
        for name, counts in _anchor_rows(label, figures)
    )
    head = ["method", *(f"epoch {epoch}" for epoch in range(epochs))]
    yield "<details><summary>Anchors by epoch as numbers</summary>"
    yield _html_table(head, rows)
    yield "</details>"


def _anchor_rows(
    label: str, figures: Mapping[str, Any]
) -> Iterator[tuple[str, list[float | None]]]:
    yield label, figures["mean_anchors_by_epoch"]
    by_epoch = figures["anchor_sources_by_epoch"]
    for source in plot.SOURCES:
        if any(source in by for by in by_epoch):
            yield f"{label}, {source}", [by.get(source, 0.0) for by in by_epoch]
