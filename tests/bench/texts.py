"""Texts and queries of a given size, the same on every run."""

from __future__ import annotations

import random

WORDS = """
anchor bucket candle delta ember forest garden harbour island journal kettle ladder meadow needle
orchard pencil quarry river saddle timber umbrella valley window yellow zephyr the a of and to in is
that it was for on are with as at be this have from or had by but not what
""".split()


def make_text(name: str, size: int) -> str:
    """About size bytes of words, different for every name."""
    draw = random.Random(name)
    words = [name]
    length = len(name)
    while length < size:
        word = draw.choice(WORDS)
        words.append(word)
        length += len(word) + 1
    return " ".join(words)


def make_qualities(names: list[str], size: int) -> dict[str, float]:
    """A text for each name, with its quality in -4..4."""
    return {make_text(name, size): random.Random(name + "?").uniform(-4, 4) for name in names}


def best_first(texts: list[str], qualities: dict[str, float]) -> list[str]:
    return sorted(texts, key=lambda text: -qualities[text])


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
