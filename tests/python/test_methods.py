"""The classes of the methods against the registry of the core."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import rankbuffer as rb

# The core's methods with their options and defaults. A Go test keeps the file as
# the registry in core/rank/methods is.
CORE = json.loads(
    (Path(__file__).parents[2] / "core/rank/methods/testdata/methods.json").read_text()
)


def test_every_method_of_the_core_has_a_class() -> None:
    assert set(rb.METHODS) == set(CORE), (
        "python/rankbuffer/methods.py and core/rank/methods/testdata/methods.json hold different "
        "methods; if registry.go has the row, run "
        "go test ./core/rank/methods -run TestMethodsAreDescribed -update"
    )


@pytest.mark.parametrize("name", sorted(CORE))
def test_options_and_defaults_are_those_of_the_core(name: str) -> None:
    kind = rb.METHODS[name]
    options = {field.name: field.default for field in dataclasses.fields(kind)}
    assert options == CORE[name]["options"], (
        f"python/rankbuffer/methods.py: {kind.__name__} and core/rank/methods/{name}.go differ"
    )
    assert kind.needs_group == CORE[name]["needs_group"], f"{kind.__name__}.needs_group"


@pytest.mark.parametrize("name", sorted(rb.METHODS))
def test_every_class_is_exported(name: str) -> None:
    kind = rb.METHODS[name]
    assert kind.__name__ in rb.__all__, f"python/rankbuffer/__init__.py: {kind.__name__} is missing"
    assert getattr(rb, kind.__name__) is kind
