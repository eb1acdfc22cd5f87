"""Rewards for a batch of rows, in a training loop of your own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ._encode import eligible, text
from .errors import ConflictError, InputError
from .rows import QueryRow, parse_prompt, parse_query, parse_query_id, query_id_of
from .scorer import Scorer
from .types import GroupResult

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class BatchResult:
    """The rewards of a batch of rows.

    ``rewards``
        One number for each row, in order.
    ``results``
        One result for each group that was scored.
    ``rejected``
        How many groups had bad input. Their rows are rewarded 0.
    """

    rewards: list[float]
    results: list[GroupResult] = field(default_factory=list)
    rejected: int = 0


@dataclass
class _Group:
    query_id: str
    query: QueryRow | None = None
    rows: list[int] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)
    eligible: list[bool] = field(default_factory=list)
    error: InputError | None = None

    def add(self, number: int, row: Mapping[str, Any]) -> None:
        """A mistake in a row rejects its whole group."""
        self.rows.append(number)
        where = f"rows[{number}]."
        try:
            query = parse_query(row, where=where, closed=False)
            self.query = self.query or query
            if name := query.differs(self.query):
                raise InputError("differs from the first row of its query id", where + name)
            self.responses.append(text(row["response"], where + "response"))
            self.eligible.append(eligible(row.get("eligible"), where + "eligible"))
        except InputError as error:
            self.error = self.error or error


def score_batch(
    scorer: Scorer,
    rows: Sequence[Mapping[str, Any]],
    *,
    group_size: int | None = None,
    step: int | None = None,
    epoch: int | None = None,
    validate: bool = False,
) -> list[float]:
    """One reward for each row, in order. All groups are judged at the same time.

    Rows of one query form a group. A group is rewarded 0, and the mistake is
    logged, if one of its rows has bad input, if its rows describe different
    queries, or if the scorer knows the query with other content.

    ``scorer``
        The scorer, whose method and judge give the rewards.
    ``rows``
        Query rows as `rankbuffer.rows` documents them. Each has its ``response``,
        a string, and may have ``eligible``: False for a response that takes no
        part and gets the lowest reward of its group. Other fields are not read.
    ``group_size``
        How many rows form a group. Each run of that many rows of a query is a
        group. A shorter rest is scored, but changes no buffer. Without it, all
        rows of a query form one group.
    ``step``, ``epoch``
        When the responses were sampled. Both may be left out.
    ``validate``
        True scores against the buffers and never changes one.

    InputError if a row has no ``query`` or no ``response``, or if every group
    has bad input, which is a mistake in the set-up.

    >>> import rankbuffer as rb
    >>> judge = rb.SimulatedJudge(qualities={"Air scatters blue.": 2, "It just is.": 0})
    >>> query = "Why is the sky blue?"
    >>> texts = ["Air scatters blue.", "It just is."]
    >>> with rb.Scorer(judge=judge) as scorer:
    ...     rb.score_batch(scorer, [{"query": query, "response": text} for text in texts])
    [1.0, -1.0]
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
) -> BatchResult:
    """`score_batch` for asyncio, with the groups' results beside the rewards."""

    async def score(group: _Group) -> GroupResult | ConflictError | InputError:
        try:
            if group.error is not None:
                raise group.error
            assert group.query is not None
            return await scorer.score_group_async(
                group.query_id,
                group.responses,
                **group.query.content(),
                reference=group.query.reference,
                eligible=group.eligible,
                step=step,
                epoch=epoch,
                update=not validate and group_size in (None, len(group.rows)),
                validate=validate,
            )
        except (ConflictError, InputError) as error:
            said = "rankbuffer: group of query %.80r is rewarded 0: %s"
            log.error(said, group.query_id, error.summary)
            log.debug(said, group.query_id, error.detail)
            return error

    groups = _groups(rows, group_size)
    scored = await asyncio.gather(*map(score, groups))
    results = [result for result in scored if isinstance(result, GroupResult)]
    bad = [result for result in scored if isinstance(result, InputError)]
    if bad and len(bad) == len(groups):
        raise bad[0]
    _log_failures(results)
    rewards = [0.0] * len(rows)
    for group, result in zip(groups, scored, strict=True):
        if isinstance(result, GroupResult):
            for number, reward in zip(group.rows, result.rewards, strict=True):
                rewards[number] = reward
    return BatchResult(rewards=rewards, results=results, rejected=len(groups) - len(results))


def _log_failures(results: Sequence[GroupResult]) -> None:
    """One line a batch: rewards that are all alike must not hide that the judge is gone."""
    failed = [result for result in results if result.group_status != "ok"]
    if failed:
        why = next((result.error_summary for result in failed if result.error_summary), "")
        log.warning("rankbuffer: %d of %d groups failed: %s", len(failed), len(results), why)


def _groups(rows: Sequence[Mapping[str, Any]], size: int | None) -> list[_Group]:
    """Rows by query, in order of first appearance; full groups are followed by new ones."""
    groups: list[_Group] = []
    growing: dict[str, _Group] = {}
    for number, row in enumerate(rows):
        for name in ("query", "response"):
            if name not in row:
                raise InputError("missing", f"rows[{number}].{name}", code="missing_field")
        query_id = _query_id(row)
        group = growing.get(query_id)
        if group is None or (size is not None and len(group.rows) >= size):
            group = growing[query_id] = _Group(query_id)
            groups.append(group)
        group.add(number, row)
    return groups


def _query_id(row: Mapping[str, Any]) -> str:
    """What tells a row's group, also for a row with bad input."""
    try:
        return parse_query_id(row.get("query_id")) or query_id_of(parse_prompt(row["query"]))
    except InputError:
        return query_id_of(row["query"])


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end, also where an event loop is running (in a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, "rankbuffer-batch") as elsewhere:
        return elsewhere.submit(asyncio.run, work).result()
