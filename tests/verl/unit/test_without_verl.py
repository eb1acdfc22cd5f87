"""Says in the summary of `make test` what it left out."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


@pytest.mark.skipif(
    find_spec("verl") is None,
    reason="verl is not installed: tests/verl/stack was left out; `make test-verl` runs it",
)
def test_verl_is_installed() -> None:
    assert find_spec("ray") is not None
