"""What the tests of the TRL integration share. Those that need TRL are left out without it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from known_world import numbered_scorer

import rankbuffer as rb

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")


@pytest.fixture
def scorer() -> Iterator[rb.Scorer]:
    with numbered_scorer() as made:
        yield made
