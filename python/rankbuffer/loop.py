"""Rewards for a batch of rows, for anyone's training loop."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ._cause import cause
from ._encode import eligible
from .errors import ConflictError, InputError
from .scorer import Scorer
from .types import GroupResult, Query

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What a batch of rows came to. ``results`` has one entry for each group that was scored.

    ``rejected`` counts the groups that could not be, whose rows are rewarded 0.
    """

    rewards: list[float]
    results: list[GroupResult] = field(default_factory=list)
    rejected: int = 0


@dataclass
class _Group:
    row: Mapping[str, Any]
    query_id: str
    places: list[int] = field(default_factory=list)


def score_batch(
    scorer: Scorer,
    rows: Sequence[Mapping[str, Any]],
    *,
    group_size: int | None = None,
    step: int | None = None,
    epoch: int | None = None,
    validate: bool = False,
) -> list[float]:
    """One reward for each row, in order; all groups are judged at once.

    A row is ``{"query", "response", "query_id"?, "rubrics"?, "ranked"?, "reference"?,
    "eligible"?}``. Rows of one query make a group; with ``group_size``, each run of
    that many, and a rest that is shorter changes no buffer. Without ``query_id`` the
    query's text tells them apart. A group with bad input, or whose query has other
    content than before or in the group's first row, is rewarded 0 and logged; InputError
    if all groups have bad input, which is a mistake in the set-up.
    """
    work = score_rows(
        scorer, rows, group_size=group_size, step=step, epoch=epoch, validate=validate
    )
    return run(work).rewards


async def score_rows(
    scorer: Scorer,
    rows: Sequence[Mapping[str, Any]],
    *,
    group_size: int | None = None,
    step: int | None = None,
    epoch: int | None = None,
    validate: bool = False,
) -> Batch:
    """``score_batch`` for asyncio, with the groups' results beside the rewards."""
    groups = _groups(rows, group_size)
    scored = await asyncio.gather(
        *(_score(scorer, group, rows, group_size, step, epoch, validate) for group in groups)
    )
    results = [result for result in scored if isinstance(result, GroupResult)]
    bad = [result for result in scored if isinstance(result, InputError)]
    if bad and len(bad) == len(groups):
        raise bad[0]
    _tell(results)
    rewards = [0.0] * len(rows)
    for group, result in zip(groups, scored, strict=True):
        if isinstance(result, GroupResult):
            for place, reward in zip(group.places, result.rewards, strict=True):
                rewards[place] = reward
    return Batch(rewards=rewards, results=results, rejected=len(groups) - len(results))


async def _score(
    scorer: Scorer,
    group: _Group,
    rows: Sequence[Mapping[str, Any]],
    group_size: int | None,
    step: int | None,
    epoch: int | None,
    validate: bool,
) -> GroupResult | ConflictError | InputError:
    members = [rows[place] for place in group.places]
    whole = group_size is None or len(members) == group_size
    try:
        for place, row in zip(group.places, members, strict=True):
            _same_query(group.row, row, place)
        return await scorer.score_group_async(
            group.query_id,
            [row["response"] for row in members],
            query=group.row["query"],
            rubrics=group.row.get("rubrics") or None,
            ranked=group.row.get("ranked") or None,
            reference=group.row.get("reference"),
            eligible=[eligible(row.get("eligible")) for row in members],
            step=step,
            epoch=epoch,
            update=whole and not validate,
            validate=validate,
        )
    except (ConflictError, InputError) as error:
        log.error("rankbuffer: group of query %.80r is rewarded 0: %s", group.query_id, error)
        return error


def _tell(results: Sequence[GroupResult]) -> None:
    """One line a batch: a judge that is gone must not look like rewards that are all alike."""
    failed = [result for result in results if result.group_status != "ok"]
    if failed:
        why = cause(next((r.error for r in failed if r.error), ""))
        log.warning("rankbuffer: %d of %d groups failed: %s", len(failed), len(results), why)


def _same_query(first: Mapping[str, Any], row: Mapping[str, Any], place: int) -> None:
    """InputError if a row says something else of its query than the first one of the group."""
    for name in ("query", "rubrics", "ranked", "reference"):
        mine, its = row.get(name) or None, first.get(name)
        if mine is not its and mine is not None and _text(mine) != _text(its):
            raise InputError(f"rows[{place}]: {name}: differs from the first row of its query id")


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _groups(rows: Sequence[Mapping[str, Any]], size: int | None) -> list[_Group]:
    """Rows by query, in order of first appearance; full groups are followed by new ones."""
    done: list[_Group] = []
    open_: dict[str, _Group] = {}
    for place, row in enumerate(rows):
        for name in ("query", "response"):
            if name not in row:
                raise InputError(f"rows[{place}]: {name}: missing")
        query_id = row.get("query_id") or query_id_of(row["query"])
        group = open_.get(query_id)
        if group is None or (size is not None and len(group.places) >= size):
            group = open_[query_id] = _Group(row, query_id)
            done.append(group)
        group.places.append(place)
    return done


def query_id_of(query: Query) -> str:
    """An id for a query without one: the hash of its content.

    The same everywhere: in files that `rankbuffer prepare` reads, in verl, in TRL and here.
    """
    return f"query-{query_hash(query)}"


def query_hash(query: Query) -> str:
    """24 hexadecimal digits."""
    return hashlib.sha256(_text(query).encode("utf-8", "replace")).hexdigest()[:24]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end, also where an event loop is running (in a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    results: list[T] = []
    errors: list[BaseException] = []

    def elsewhere() -> None:
        try:
            results.append(asyncio.run(work))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=elsewhere, name="rankbuffer-batch")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
