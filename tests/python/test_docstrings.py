"""The examples in docstrings are run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import rankbuffer as rb

MODULES = [
    found.name
    for found in pkgutil.walk_packages(rb.__path__, "rankbuffer.")
    if found.name != "rankbuffer.__main__"
]


@pytest.mark.parametrize("name", ["rankbuffer", *MODULES])
def test_examples(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if not (error.name or "").startswith("rankbuffer"):
            pytest.skip(f"{error.name} is not installed")
        raise
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


def test_public_functions_have_an_example() -> None:
    modules = ("rankbuffer.rows", "rankbuffer.trl")
    rows, trl = (importlib.import_module(name) for name in modules)
    for one in (rb.score_batch, rows, trl.RewardFunction):
        assert ">>>" in (one.__doc__ or "")
