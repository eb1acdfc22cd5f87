"""Maintenance that the caller applies by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from known_world import World

import rankbuffer as rb

Build = Callable[..., rb.Scorer]


def test_update_by_hand_equals_update_at_once(world: World, query: Build) -> None:
    group = world.group("q", -1, 2.5, 7)
    at_once = query()
    at_once.score_group("q", group)

    by_hand = query()
    before = by_hand.buffer("q")
    result = by_hand.score_group("q", group, update=False)
    assert by_hand.buffer("q") == before
    by_hand.update(result)
    assert by_hand.buffer("q") == at_once.buffer("q")


def test_update_by_group_id(world: World, query: Build) -> None:
    scorer = query()
    result = scorer.score_group("q", world.group("q", -1, 2.5), update=False)
    scorer.update(result.group_id)
    assert len(scorer.buffer("q").anchors) == 5


def test_stale_update_is_refused(world: World, query: Build) -> None:
    scorer = query()
    stale = scorer.score_group("q", world.group("q", -1, 2.5), update=False)
    scorer.score_group("q", world.group("q", 3.5, 7))
    moved_on = scorer.buffer("q")
    with pytest.raises(rb.StaleError):
        scorer.update(stale)
    assert scorer.buffer("q") == moved_on


def test_method_without_a_scale_has_nothing_to_update(world: World, query: Build) -> None:
    scorer = query(rb.SCR())
    result = scorer.score_group("q", world.group("q", -1, 2.5), update=False)
    with pytest.raises(rb.StaleError, match="the method scr keeps no buffer"):
        scorer.update(result)


def test_update_twice_is_refused(world: World, query: Build) -> None:
    scorer = query()
    result = scorer.score_group("q", world.group("q", -1, 2.5), update=False)
    scorer.update(result)
    once = scorer.buffer("q")
    with pytest.raises(rb.StaleError):
        scorer.update(result)
    assert scorer.buffer("q") == once
