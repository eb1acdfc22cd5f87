"""Kendall's tau-b, means and their errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence


def kendall_tau_b(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Kendall's tau-b, in -1..1: agreement of two orders, corrected for ties in either.

    0 where it is undefined: fewer than two pairs, or all of one side equal.
    """
    concordance = ties_x = ties_y = 0
    n = len(xs)
    for i in range(n):
        for j in range(i):
            x = (xs[i] > xs[j]) - (xs[i] < xs[j])
            y = (ys[i] > ys[j]) - (ys[i] < ys[j])
            concordance += x * y
            ties_x += x == 0
            ties_y += y == 0
    pairs = n * (n - 1) // 2
    if pairs in (ties_x, ties_y):
        return 0.0
    return concordance / math.sqrt((pairs - ties_x) * (pairs - ties_y))


def mean(values: Iterable[float]) -> float | None:
    """The mean; None of nothing."""
    values = list(values)
    return math.fsum(values) / len(values) if values else None


def mean_error(values: Mapping[str, Sequence[float]]) -> float | None:
    """Standard error of the mean of all values; None of fewer than two keys.

    Keys are the sample (queries), since values of one key (its epochs) are alike.
    """
    keys, total = len(values), sum(map(len, values.values()))
    if keys < 2:
        return None
    centre = math.fsum(v for own in values.values() for v in own) / total
    spread = math.fsum(math.fsum(v - centre for v in own) ** 2 for own in values.values())
    return math.sqrt(spread * keys / (keys - 1)) / total
