"""The fast way of writing texts as JSON says what json says."""

import json
import random

import pytest

import rankbuffer as rb
from rankbuffer._encode import encode, with_texts

HOSTILE = [
    "",
    "plain",
    'quotes " and \\ and \\" and \\\\n',
    "lines\nand\rtabs\tand\r\n",
    "controls \x00 \x01 \x1f \x7f \x85 \u2028 \u2029",
    "é 漢字 \U0001f600",
    "\\u0041 stays as it is",
]


def written(texts: list[str]) -> object:
    return json.loads(with_texts(encode({"query_id": "q"}), "responses", texts))


def test_hostile_texts() -> None:
    assert written(HOSTILE) == {"query_id": "q", "responses": HOSTILE}
    assert written([]) == {"query_id": "q", "responses": []}


def test_random_texts() -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    alphabet = [*map(chr, range(0x100)), "\\", '"', "\n", "漢", "\U0001f600"]
    for _ in range(300):
        texts = ["".join(rng.choices(alphabet, k=rng.randrange(40))) for _ in range(3)]
        assert written(texts) == {"query_id": "q", "responses": texts}


def test_a_lone_surrogate_is_named() -> None:
    with pytest.raises(rb.InputError, match=r"responses\[1\].*U\+D800"):
        written(["fine", "half \ud800"])
