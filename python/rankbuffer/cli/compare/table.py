"""The figures of a comparison as a table on the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from ..common.text import clip, columns, decimals, short, table, terminal_width

# Left out in this order where the terminal is too narrow; summary.json has all.
_OPTIONAL = ("cached", "±", "compl.")
_MOST_LABEL, _FAIR_LABEL, _LEAST_LABEL = 32, 26, 16

_LEGEND = (
    "prompt, compl. and cached are judge tokens. tau is the agreement with the qualities, ± its "
    "standard error. bias is how often the response shown first won, minus one half. flat is the "
    "share of groups whose rewards are all equal. tau and anchors leave failed groups out."
)


def lines(summary: Mapping[str, Mapping[str, Any]], offered: int) -> list[str]:
    """The figures by method; ``offered`` is how many groups each was to score."""
    out = _fitting([_row(label, figures, offered) for label, figures in summary.items()])
    out += textwrap.wrap(_LEGEND, terminal_width())
    for label, figures in summary.items():
        name = clip(label, _MOST_LABEL)
        if anchors := figures.get("mean_anchors_by_epoch"):
            out += ["", f"{name}: anchors by epoch  " + _by_epoch(anchors)]
        if progress := figures.get("progress_by_epoch"):
            out += [f"{name}: progress by epoch " + _by_epoch(progress)]
    return out


def _row(label: str, figures: Mapping[str, Any], offered: int) -> dict[str, str]:
    anchors = figures.get("mean_anchors_by_epoch")
    return {
        "method": label,
        "groups": groups(figures["groups"], offered),
        "calls": f"{figures['calls']:,}",
        "prompt": short(figures["prompt_tokens"]),
        "compl.": short(figures["completion_tokens"]),
        "cached": short(figures["cached_tokens"]),
        "tau": decimals(figures["kendall_tau_judged"]),
        "±": decimals(figures["kendall_tau_error"]).removeprefix("0"),
        "bias": decimals(figures["position_bias"], "+.2f"),
        "flat": f"{figures['zero_spread_share']:.1%}",
        "anchors": decimals(anchors[-1] if anchors else None, ".2f"),
        "failed": f"{figures['failed']:,}",
    }


def _fitting(rows: list[dict[str, str]]) -> list[str]:
    """The table within the terminal: fewer columns rather than labels that are cut short."""
    names, found = list(rows[0]), [""]
    for left_out in (None, *_OPTIONAL):
        names = [name for name in names if name != left_out]
        least = _LEAST_LABEL if left_out == _OPTIONAL[-1] else _FAIR_LABEL
        for label in range(_MOST_LABEL, least - 1, -1):
            cells = [[clip(row["method"], label), *(row[n] for n in names[1:])] for row in rows]
            found = table(names, cells)
            if columns(found[1]) <= terminal_width():
                return found
    return found


def groups(scored: int, offered: int) -> str:
    """How many were scored, and of how many where a budget ended it."""
    return f"{scored:,}" if scored == offered else f"{scored:,}/{offered:,}"


def _by_epoch(values: list[float | None]) -> str:
    """All of a few, the first and last ones of many."""
    shown = [decimals(value, ".2f") for value in values]
    if len(shown) > 10:
        shown = [*shown[:5], "...", *shown[-4:]]
    return "  ".join(shown)
