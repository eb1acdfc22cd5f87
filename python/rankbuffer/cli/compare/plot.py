"""The plots of a comparison as SVG, drawn with matplotlib (the extra ``plot``).

Colours in the SVG are CSS variables and ``currentColor``, so that the page around
it decides, also when it turns dark.
"""

from __future__ import annotations

import html
import importlib.util
import io
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..common.text import clip, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = 8
"""How many colours the page has to define: ``--s0``, ``--s1``, ..."""

SOURCES = {"ranked": 7, "bootstrap": 4, "left": 1, "right": 0, "refine": 2, "llm": 3}
"""The colour of each source of anchors, from the bottom of a bar to its top."""

_MARKERS = "osD^vPX"
_LABEL_WIDTH = 28
_POINTS = 72  # an inch; what an SVG of matplotlib counts in
# matplotlib wants colours; these stand for what the page defines.
_INK, _RULE = "#010101", "#020202"
_SERIES = [f"#0303{k:02x}" for k in range(COLOURS)]
_STYLE = {
    "svg.fonttype": "none",  # text stays text: it is found, read aloud and scales
    "svg.hashsalt": "rankbuffer",
    "text.parse_math": False,  # a label is a label, whatever is in it
    "font.family": "sans-serif",
    # matplotlib measures the first, whose letters are the widest.
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "font.size": 9.5,
    "text.color": _INK,
    "axes.edgecolor": _RULE,
    "axes.labelcolor": _INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": _RULE,
    "ytick.color": _RULE,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "grid.color": _RULE,
    "grid.linewidth": 0.5,
    "figure.facecolor": "none",
}


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One method in the plot of cost and quality."""

    label: str
    tokens: float
    """Of the judge, for a group."""
    tau: float
    error: float | None


def available() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def cost_quality(marks: Sequence[Mark]) -> str:
    """Tau against tokens, one mark a method; tokens on a log scale where they differ much."""
    # The legend needs a line for each name.
    with _drawing(7.6, min(max(4.0, 0.6 + 0.21 * len(marks)), 9.0)) as figure:
        axes = figure.add_subplot()
        tokens = [mark.tokens for mark in marks]
        if min(tokens) > 0 and max(tokens) > 3 * min(tokens):
            _log_scale(axes, min(tokens), max(tokens))
        else:
            axes.margins(x=0.25)
            axes.set_xlim(left=max(0.0, axes.get_xlim()[0]))
        shown = []
        for i, mark in enumerate(marks):
            colour, error = _SERIES[i % COLOURS], mark.error or 0.0
            axes.vlines(mark.tokens, mark.tau - error, mark.tau + error, colour, linewidth=1.2)
            shown += axes.plot(
                mark.tokens, mark.tau, color=colour, marker=_MARKERS[i % len(_MARKERS)],
                markersize=7, linestyle="none", gid=f"mark{i}",
            )  # fmt: skip
        axes.margins(y=0.15)
        axes.xaxis.set_major_formatter(lambda value, _: short(round(value)))
        axes.grid(True, alpha=0.6)
        axes.set_xlabel("judge tokens a group (prompt and completion)")
        axes.set_ylabel("Kendall's tau-b against the qualities")
        # A legend leaves out a label that begins with an underscore, but not with a space.
        labels = [clip(mark.label, _LABEL_WIDTH) for mark in marks]
        axes.legend(
            shown,
            [f" {label}" if label.startswith("_") else label for label in labels],
            loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False, fontsize=9,
        )  # fmt: skip
        figure.tight_layout(pad=0.6)
        told = {
            f"mark{i}": f"{mark.label}: tau {mark.tau:.3f}"
            + (f" ± {mark.error:.3f}" if mark.error is not None else "")
            + f", {mark.tokens:,.0f} tokens a group"
            for i, mark in enumerate(marks)
        }
        return _svg(figure, "cost", "Kendall's tau against judge tokens, by method", told)


def anchors_by_epoch(
    name: str, label: str, anchors: Sequence[float | None],
    sources: Sequence[Mapping[str, float]], top: float,
) -> str:  # fmt: skip
    """Mean anchors of a buffer by epoch as a curve, and where they came from as bars below it.

    The curve has a gap where there are none, as all groups failed.
    """
    from matplotlib.ticker import MaxNLocator

    with _drawing(3.5, 2.3) as figure:
        axes = figure.add_subplot()
        epochs = range(len(anchors))
        below = [0.0] * len(anchors)
        width = 0.8 if len(anchors) <= 40 else 1.0
        for source, colour in SOURCES.items():
            heights = [by.get(source, 0.0) for by in sources]
            if any(heights):
                axes.bar(epochs, heights, width, bottom=below, color=_SERIES[colour], alpha=0.8)
            below = [b + h for b, h in zip(below, heights, strict=True)]
        curve = [math.nan if count is None else count for count in anchors]
        axes.plot(epochs, curve, color=_INK, marker="o", markersize=3, linewidth=1.2)
        if len(anchors) <= 8:
            for epoch, count in enumerate(curve):
                if math.isnan(count):
                    continue
                axes.annotate(
                    f"{count:.1f}", (epoch, count), (0, 4), textcoords="offset points",
                    ha="center", fontsize=8.5,
                )  # fmt: skip
        axes.set_ylim(0, top * 1.15)
        axes.set_xlim(-0.6, len(anchors) - 0.4)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(True, axis="y", alpha=0.6)
        axes.set_xlabel("epoch")
        axes.set_ylabel("anchors a query")
        figure.tight_layout(pad=0.6)
        return _svg(figure, name, f"{label}: mean anchors by epoch and source", {})


@contextmanager
def _drawing(width: float, height: float) -> Iterator[Figure]:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # A glyph that the measured font lacks is there in the reader's.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        yield Figure(figsize=(width, height), dpi=_POINTS)


def _log_scale(axes: Axes, low: float, high: float) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

    axes.set_xscale("log")
    axes.set_xlim(low / 1.6, high * 1.9)
    steps = (1, 2, 5) if high < 50 * low else (1, 3) if high < 1000 * low else (1,)
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())


def _svg(figure: Figure, name: str, title: str, told: Mapping[str, str]) -> str:
    """The figure as an element of a page; ``told`` is what a pointer at an element is told."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for colour, css in _css():
        svg = svg.replace(colour, css)
    for element, text in told.items():
        svg = svg.replace(f'<g id="{element}">', f'<g id="{element}"><title>{_text(text)}</title>')
    # Several on a page must not share ids.
    svg = re.sub(r'(\bid="|"#|url\(#)', rf"\g<1>{name}-", svg)
    return svg.replace(
        "<svg ", f'<svg role="img" aria-label="{_text(title)}" class="plot" ', 1
    ).strip()


def _css() -> Iterator[tuple[str, str]]:
    yield _INK, "currentColor"
    yield _RULE, "var(--rule)"
    for k, colour in enumerate(_SERIES):
        yield colour, f"var(--s{k})"


def _text(text: str) -> str:
    return html.escape(clip(text, 200))
