"""Puts labels beside marks so that they do not overlap."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# Distances from the mark, in points, at which a label is tried, the nearest first.
_RADII = (7.0, 13.0, 21.0, 31.0, 43.0, 57.0, 75.0, 95.0)
_ANGLES = [math.pi / 8 * k for k in (0, 8, 2, 14, 6, 10, 4, 12, 1, 15, 7, 9, 3, 13, 5, 11)]
_ROUNDS = 4
_PAD = 1.5
_STEPS = (0.2, 0.4, 0.6, 0.8)


class Box(NamedTuple):
    """A rectangle."""

    x0: float
    y0: float
    x1: float
    y1: float

    def overlap(self, other: Box) -> float:
        """The area that the two have in common."""
        width = min(self.x1, other.x1) - max(self.x0, other.x0)
        height = min(self.y1, other.y1) - max(self.y0, other.y0)
        return width * height if width > 0 and height > 0 else 0.0

    def grown(self, by: float) -> Box:
        return Box(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)

    def nearest(self, x: float, y: float) -> tuple[float, float]:
        """The point of the rectangle that is nearest to another."""
        return min(max(x, self.x0), self.x1), min(max(y, self.y0), self.y1)


def place(
    marks: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    obstacles: Sequence[Box],
    frame: Box,
) -> list[Box]:
    """Where the label of each mark goes, within the frame.

    The first choice is right beside the mark; a label moves away as far as it takes
    to be clear of the obstacles and of other labels, or as clear as can be.
    """
    placed: list[Box | None] = [None] * len(marks)
    for _ in range(_ROUNDS):
        before = list(placed)
        for i, (mark, size) in enumerate(zip(marks, sizes, strict=True)):
            others = [box for j, box in enumerate(placed) if box is not None and j != i]
            blocked = [*obstacles, *others]
            placed[i] = min(
                _candidates(mark, size), key=lambda box: _cost(box, mark, blocked, frame)
            )
        if placed == before:
            break
    return [box for box in placed if box is not None]


def _candidates(mark: tuple[float, float], size: tuple[float, float]) -> Iterator[Box]:
    (x, y), (width, height) = mark, size
    for radius in _RADII:
        for angle in _ANGLES:
            dx, dy = math.cos(angle), math.sin(angle)
            # The side of the label that faces the mark is at the radius.
            x0 = x + radius * dx - width * (0.5 - 0.5 * _towards(dx))
            y0 = y + radius * dy - height * (0.5 - 0.5 * _towards(dy))
            yield Box(x0, y0, x0 + width, y0 + height)


def _towards(part: float) -> float:
    """-1, 0 or 1: which end of the label faces the mark."""
    return 0.0 if abs(part) < 0.35 else math.copysign(1.0, part)


def _cost(
    box: Box, mark: tuple[float, float], blocked: Sequence[Box], frame: Box
) -> tuple[float, float]:
    """Overlap first, then distance; ties keep the order of the candidates."""
    padded = box.grown(_PAD)
    outside = (box.x1 - box.x0) * (box.y1 - box.y0) - box.overlap(frame)
    hidden = sum(padded.overlap(other) for other in blocked)
    near = box.nearest(*mark)
    # The line that leads from a far label to its mark should not cross others.
    far = math.dist(near, mark)
    line = [(near[0] + (mark[0] - near[0]) * t, near[1] + (mark[1] - near[1]) * t) for t in _STEPS]
    crossed = sum(
        o.x0 < x < o.x1 and o.y0 < y < o.y1
        for t, (x, y) in zip(_STEPS, line, strict=True)
        for o in blocked
        if far * (1 - t) > _RADII[0]
    )
    return round(100 * outside + hidden + 10 * crossed, 3), round(far, 1)
