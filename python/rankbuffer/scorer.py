"""The scorer: a method, a judge and a quality scale for each query."""

from __future__ import annotations

import json
import os
import warnings
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, SupportsFloat

from . import _ffi
from ._encode import encode, integer, milliseconds, text
from ._group import Rubrics, describe, group, terms
from ._pump import Pending, Pump
from ._wait import interruptibly
from .config import ScorerConfig
from .errors import RankBufferWarning, of_the_config
from .judges import Judge, SimulatedJudge
from .methods import Method, RankBuffer
from .open_group import OpenGroup
from .types import Buffer, GroupResult, Query, Rubric

_CLOSE_S = 5.0


class Scorer:
    """Turns groups of responses to a query into rewards.

    Arguments are those of :class:`ScorerConfig`. All methods are safe to call
    from any thread and any event loop. Use it in a ``with`` block, or close it.
    A scorer does not pickle and does not survive a fork: pickle ``scorer.config``
    and build another with ``Scorer.from_config``.
    """

    def __init__(
        self,
        *,
        judge: Judge | SimulatedJudge,
        method: Method | None = None,
        seed: int = 0,
        on_failure: Literal["mean", "neutral", "raise"] = "mean",
        advantage: Literal["grpo", "dr_grpo"] = "grpo",
        reasoning: tuple[str, str] | None = ("<think>", "</think>"),
        prompts: Mapping[str, str | os.PathLike[str]] | None = None,
        max_response_bytes: int | None = None,
        max_group_size: int | None = None,
        max_groups: int | None = None,
    ) -> None:
        self._config = ScorerConfig(
            judge=judge,
            method=method if method is not None else RankBuffer(),
            seed=seed,
            on_failure=on_failure,
            advantage=advantage,
            reasoning=reasoning,
            prompts=prompts,
            max_response_bytes=max_response_bytes,
            max_group_size=max_group_size,
            max_groups=max_groups,
        )
        with of_the_config():
            handle = _ffi.library().scorer_new(encode(self._config.to_json()))
        self._pump = Pump(handle)
        # Runs when the scorer is collected and at exit; must not refer to self.
        self._finalizer = weakref.finalize(
            self, self._pump.close, milliseconds(_CLOSE_S, "deadline")
        )
        for warning in self.stats().get("warnings", ()):
            warnings.warn(warning, RankBufferWarning, stacklevel=2)

    @classmethod
    def from_config(cls, config: ScorerConfig) -> Scorer:
        """A scorer from a configuration that was unpickled or read from a file."""
        return cls(**{name: getattr(config, name) for name in ScorerConfig.__dataclass_fields__})

    @property
    def config(self) -> ScorerConfig:
        """What this scorer was built from; pickles."""
        return self._config

    # Queries and their scales.

    def create_buffer(
        self,
        query_id: str,
        *,
        query: Query,
        rubrics: Rubrics | None = None,
        ranked: Iterable[str] | None = None,
    ) -> None:
        """Makes a query known; ``ranked`` responses, best first, start its scale.

        A known query with the same content is left as it is; other content is a
        ConflictError.
        """
        handle = self._pump.handle()
        _ffi.library().buffer_create(handle, encode(describe(query_id, query, rubrics, ranked)))

    def buffer(self, query_id: str) -> Buffer:
        """The query's scale as it is now. NotFoundError for an unknown query."""
        handle = self._pump.handle()
        return Buffer.from_json(json.loads(_ffi.library().buffer_get(handle, query_id)))

    def update(self, result: GroupResult | str) -> None:
        """Applies the maintenance of a group scored with ``update=False``.

        Takes the group's result or its group id. StaleError if the scale has changed since.
        """
        group_id = result.group_id if isinstance(result, GroupResult) else result
        _ffi.library().update(self._pump.handle(), group_id)

    def write_rubrics(self, query_id: str, *, query: Query, ranked: Iterable[str]) -> list[Rubric]:
        """Has the judge write rubrics for a query from its ranked responses, best first.

        Changes nothing: give them back with the query to use them. JudgeError if
        the judge cannot be made to write 3 to 5 that are usable.
        """
        handle, body = self._pump.handle(), encode(describe(query_id, query, None, ranked))
        raw = interruptibly(lambda: _ffi.library().rubrics_write(handle, body))
        return [Rubric(r["text"], weight=r["weight"]) for r in json.loads(raw)]

    # Groups.

    def score_group(
        self,
        query_id: str,
        responses: Iterable[str],
        *,
        query: Query | None = None,
        rubrics: Rubrics | None = None,
        ranked: Iterable[str] | None = None,
        reference: str | None = None,
        eligible: Iterable[bool] | None = None,
        format_scores: Iterable[SupportsFloat] | None = None,
        epoch: int | None = None,
        step: int | None = None,
        update: bool = True,
        validate: bool = False,
        deadline: float | None = None,
    ) -> GroupResult:
        """Scores a group and waits; Ctrl-C cancels it and goes through at once.

        ``query``, ``rubrics`` and ``ranked`` (best first) are needed the first
        time a query is seen, unless ``create_buffer`` gave them. Responses not
        ``eligible`` are treated as empty. ``reference`` is the response that PRC
        compares with. ``epoch`` defaults to the number of groups ranked for the
        query. ``update=False`` leaves the scale as it is until ``update``;
        ``validate=True`` scores each response against the scale and never changes
        it (``result.detail["unjudged"]`` tells if there was none to score against).
        ``deadline`` is in seconds from now; responses not judged by then have the
        status ``timeout``.
        """
        body = group(
            query_id, responses, query, rubrics, ranked, reference, eligible, format_scores,
            epoch, step, update, validate, deadline,
        )  # fmt: skip
        pending = Pending(self._pump)
        try:
            _submit(pending, body)
            return GroupResult.from_json(pending.wait())
        except BaseException:
            pending.cancel()
            raise

    async def score_group_async(
        self,
        query_id: str,
        responses: Iterable[str],
        *,
        query: Query | None = None,
        rubrics: Rubrics | None = None,
        ranked: Iterable[str] | None = None,
        reference: str | None = None,
        eligible: Iterable[bool] | None = None,
        format_scores: Iterable[SupportsFloat] | None = None,
        epoch: int | None = None,
        step: int | None = None,
        update: bool = True,
        validate: bool = False,
        deadline: float | None = None,
    ) -> GroupResult:
        """``score_group`` for asyncio. Cancelling the task cancels the group."""
        body = group(
            query_id, responses, query, rubrics, ranked, reference, eligible, format_scores,
            epoch, step, update, validate, deadline,
        )  # fmt: skip
        pending = Pending(self._pump)
        try:
            _submit(pending, body)
            return GroupResult.from_json(await pending.wait_async())
        except BaseException:
            pending.cancel()
            raise

    def open_group(
        self,
        query_id: str,
        *,
        expected: int,
        query: Query | None = None,
        rubrics: Rubrics | None = None,
        ranked: Iterable[str] | None = None,
        reference: str | None = None,
        epoch: int | None = None,
        step: int | None = None,
        update: bool = True,
        validate: bool = False,
        deadline: float | None = None,
        tag: str | None = None,
        mark: int | None = None,
        label: str | None = None,
    ) -> OpenGroup:
        """A group whose ``expected`` responses come one by one, judged as they come.

        ::

            async def rollout(group, prompt):
                return await group.add(await generate(prompt))

            async with scorer.open_group("q1", expected=8, deadline=60) as group:
                rewards = await asyncio.gather(*(rollout(group, p) for p in prompts))
            group.result

        A reward is there when the whole group is done: await each ``add`` in a task
        of its own, never one after the other. With ``with``, ``group.add(text)``
        returns at once; ``group.result`` is there after the block. The group takes
        its turn among the groups of its query when the block is entered, and they
        wait for it to close: give a ``deadline`` where a response may never come.
        Those that come later are left out, without an error, and their places have
        the status ``timeout``. A group whose ``tag`` was applied to its query before
        is scored and changes nothing; ``mark`` is for ``restore_from``. With a
        ``label``, at most 512 bytes, the journal holds the group's result too, and
        ``restore_from`` gives it back if the process died before you had it. Other
        arguments as in ``score_group``.
        """
        self._pump.handle()
        fields = describe(query_id, query, rubrics, ranked)
        fields |= terms(reference, epoch, step, update, validate, deadline)
        if tag is not None:
            fields["tag"] = text(tag, "tag")
        if mark is not None:
            fields["mark"] = integer(mark, "mark")
        if label is not None:
            fields["label"] = text(label, "label")
        return OpenGroup(self._pump, encode(fields), expected)

    # All queries at once.

    def snapshot(self, path: str | os.PathLike[str]) -> None:
        """Writes every scale to a file, whole or not at all, while scoring goes on.

        Each query is in it as before or after a whole group. Equal scales give
        equal bytes.
        """
        _ffi.library().snapshot(self._pump.handle(), _ffi.c_path(path))

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Replaces every scale by those of a file. On any error the scorer stays as it was.

        BusyError while groups are in flight; CheckpointError for a file that is
        damaged, foreign or from a newer version.
        """
        _ffi.library().restore(self._pump.handle(), _ffi.c_path(path))

    def journal(
        self,
        path: str | os.PathLike[str] | None,
        *,
        snapshot: str | os.PathLike[str] | None = None,
    ) -> None:
        """Writes every later change down in a new file, before its group's result is seen.

        ``snapshot`` also saves the state from which that journal goes on: the two
        together are this scorer, whenever its process dies. None ends the journal.
        What cannot be written later on fails no group; ``stats()["journal"]`` counts it.
        """
        _ffi.library().journal(
            self._pump.handle(),
            None if path is None else _ffi.c_path(path),
            None if snapshot is None else _ffi.c_path(snapshot),
        )

    def restore_from(
        self,
        *,
        checkpoints: Sequence[str | os.PathLike[str]] = (),
        journals: Sequence[str | os.PathLike[str]] = (),
        until_step: int | None = None,
        until_mark: int | None = None,
        shard: tuple[int, int] | None = None,
        answers: int | None = None,
    ) -> dict[str, Any]:
        """``restore`` from several files: checkpoints, and journals that go on from them.

        Journals come oldest first. ``until_step`` leaves out the groups of later
        steps, and those without a step whose ``mark`` is not below it;
        ``until_mark`` all groups whose ``mark`` is not below it. ``shard`` (index,
        count) keeps the queries whose id's ``zlib.crc32`` modulo count is index.

        Returns what it found: ``queries`` known now, journal ``entries`` applied and
        ``skipped``, whether a journal was ``torn`` by the death of its writer, and
        ``answered``: a dict for each group with a ``label`` whose entry was applied
        (of the newest ``answers`` groups), in the order of the journals, with

        - ``label`` and ``query_id``,
        - ``result``, for ``GroupResult.from_json``: what the group's caller was given,
          or would have been,
        - ``responses``: for each, the first 24 hex digits of the SHA-256 of its text as
          it was added, in UTF-8.

        In it are groups whose ``group_status`` is ok, those included that had nothing
        to change (``applied`` is false). Groups that were partial, failed or cancelled
        changed nothing and may be scored again; so may those with ``validate=True`` or
        ``update=False``, which no journal holds. Snapshots hold no results.
        """
        sources: dict[str, Any] = {
            "checkpoints": [os.fspath(path) for path in checkpoints],
            "journals": [os.fspath(path) for path in journals],
        }
        if until_step is not None:
            sources["until"] = {"step": integer(until_step, "until_step")}
        if until_mark is not None:
            sources.setdefault("until", {})["mark"] = integer(until_mark, "until_mark")
        if answers is not None:
            sources["answers"] = integer(answers, "answers")
        if shard is not None:
            sources["shard"] = {"index": shard[0], "count": shard[1]}
        found: dict[str, Any] = json.loads(
            _ffi.library().restore_from(self._pump.handle(), encode(sources))
        )
        return found

    def check(self, deadline: float = 30.0) -> None:
        """Asks the judge's endpoints whether they can be reached, take the key and serve the model.

        JudgeError says what is wrong, ``deadline`` seconds at most from now. A
        simulated judge always passes.
        """
        limit, handle = milliseconds(deadline, "deadline"), self._pump.handle()
        interruptibly(lambda: _ffi.library().judge_check(handle, limit))

    def stats(self) -> dict[str, Any]:
        """The cost ledger: calls, tokens and latencies by kind of call, so far."""
        stats: dict[str, Any] = json.loads(_ffi.library().stats(self._pump.handle()))
        return stats

    # The end.

    def close(self, deadline: float = _CLOSE_S) -> None:
        """Cancels what is in flight and closes; whoever waits gets ClosedError. Idempotent.

        Returns after ``deadline`` seconds at the latest; what is not done by then
        ends in the background.
        """
        self._pump.close(milliseconds(deadline, "deadline"))
        self._finalizer.detach()

    @property
    def closed(self) -> bool:
        return self._pump.closed

    def __enter__(self) -> Scorer:
        self._pump.handle()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " closed" if self.closed else ""
        return f"<Scorer {self._config.method.name}{state}>"

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Scorer holds native memory and cannot be pickled or copied; "
            "pass scorer.config and build another with Scorer.from_config"
        )


def inspect(path: str | os.PathLike[str], query_id: str | None = None) -> dict[str, Any]:
    """What a checkpoint holds: its listing, or one query's buffer as JSON."""
    found: dict[str, Any] = json.loads(_ffi.library().inspect(_ffi.c_path(path), query_id))
    return found


def _submit(pending: Pending, body: bytes) -> None:
    pending.start(lambda library, handle, ticket: library.score_submit(handle, body, ticket))
