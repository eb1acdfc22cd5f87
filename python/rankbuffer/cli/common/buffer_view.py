"""Draws a group between the anchors of its query's buffer, best on top."""

from __future__ import annotations

from collections.abc import Sequence

from ...types import Anchor, Buffer, GroupResult
from .text import Style, clip, pad

# Widths of what stands before the text of an anchor and of a rollout.
_MARGIN = 23


def group_view(
    before: Buffer,
    responses: Sequence[str],
    result: GroupResult,
    after: Buffer,
    style: Style,
    width: int,
) -> list[str]:
    """Lines that show where each response landed between the anchors, and what changed after it."""
    joined = {anchor.text: anchor for anchor in after.anchors}
    for anchor in before.anchors:
        joined.pop(anchor.text, None)
    kept = {anchor.text for anchor in after.anchors}
    lines = []
    for place in range(len(before.anchors), -1, -1):
        for i in _in_interval(result, place):
            lines.append(_rollout(responses[i], result.rewards[i], joined, style, width))
        if place:
            anchor = before.anchors[place - 1]
            lines.append(_anchor(place, anchor, anchor.text in kept, style, width))
    return lines


def buffer_view(buffer: Buffer, style: Style, width: int) -> list[str]:
    """The anchors alone."""
    numbered = list(enumerate(buffer.anchors, start=1))
    return [_anchor(k, anchor, True, style, width) for k, anchor in reversed(numbered)]


def _in_interval(result: GroupResult, place: int) -> list[int]:
    """The responses between anchors ``place`` and ``place + 1``, best first."""
    there = [i for i, position in enumerate(result.positions) if position == place]
    return sorted(there, key=lambda i: -result.ranks[i])


def _anchor(number: int, anchor: Anchor, kept: bool, style: Style, width: int) -> str:
    source = anchor.source if kept else "leaves"
    head = f"{number:>4} ━━━ {pad(source, _MARGIN - 9)}"
    return style(head, "cyan", "bold") + style(clip(anchor.text, width - _MARGIN), "bold")


def _rollout(text: str, reward: float, joined: dict[str, Anchor], style: Style, width: int) -> str:
    colour = "green" if reward > 0 else "red" if reward < 0 else "yellow"
    joins = f"+{joined[text].source}" if text in joined else ""
    head = (
        "     │ " + style(f"{reward:+.2f}", colour) + "  " + style(pad(joins, _MARGIN - 14), "cyan")
    )
    return head + clip(text, width - _MARGIN)
