"""The scorer: a method, a judge and a buffer for each query."""

from __future__ import annotations

import json
import os
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, overload

from . import _ffi
from ._encode import c_string, encode, integer, milliseconds
from ._group import GroupOptions, OpenOptions, Rubrics, WholeOptions, document, group
from ._options import taking
from ._pump import Pending, Pump
from ._wait import interruptibly
from .config import ScorerConfig
from .errors import ConfigError, InputError, RankBufferWarning, of_the_config
from .open_group import OpenGroup
from .types import Buffer, GroupResult, Query, Rubric

if TYPE_CHECKING:
    from typing_extensions import Unpack  # in typing from Python 3.11

_CLOSE_S = 5.0

P = ParamSpec("P")


def _options_of(
    kind: Callable[P, ScorerConfig],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, P], None]]:
    """For the type checker: a function takes what ``kind`` takes."""
    return lambda function: function


class Scorer:
    """Turns groups of responses to a query into rewards.

    ``Scorer(config)`` takes a :class:`ScorerConfig`; ``Scorer(judge=..., method=...)``
    takes its options. Threads and event loops may share a scorer. Use it in a
    ``with`` block, or close it. A scorer does not pickle and does not survive a
    fork: pickle ``scorer.config`` and make another scorer from it.

    ConfigError if an option is wrong; FileError if a prompt template cannot be read.
    """

    @overload
    def __init__(self, config: ScorerConfig, /) -> None: ...

    @overload
    @_options_of(ScorerConfig)
    def __init__(self, **options: Any) -> None: ...

    @taking(ScorerConfig)
    def __init__(self, config: ScorerConfig | None = None, /, **options: Any) -> None:
        """Makes the scorer; sends nothing to the judge."""
        if config is None:
            config = ScorerConfig(**options)
        elif options:
            raise TypeError(f"give a ScorerConfig or its options, not both: {[*options]}")
        self._config = config
        with of_the_config():
            handle = _ffi.library().scorer_new(encode(config.to_json()))
        self._pump = Pump(handle)
        # Runs when the scorer is collected and at exit; must not refer to self.
        self._finalizer = weakref.finalize(
            self, self._pump.close, milliseconds(_CLOSE_S, "deadline")
        )
        for warning in self.stats().get("warnings", ()):
            warnings.warn(warning, RankBufferWarning, stacklevel=2)

    @property
    def config(self) -> ScorerConfig:
        """What this scorer was made from; pickles."""
        return self._config

    # Queries and their buffers.

    def create_buffer(
        self,
        query_id: str,
        *,
        query: Query,
        rubrics: Rubrics | None = None,
        ranked: Iterable[str] | None = None,
    ) -> None:
        """Makes a query known, and starts its buffer if ranked responses are given.

        ``query_id``
            A name of your choice for the query.
        ``query``
            What the policy was asked: text, or chat messages.
        ``rubrics``
            What a good response does: Rubrics, texts or ``{"text", "weight"}``. Without
            any the judge is given one general rubric.
        ``ranked``
            At least 2 responses whose order is known, best first.

        Does nothing for a known query with the same content. ConflictError if the
        content is another; InputError names a field that cannot be used.
        """
        given = {"query": query, "rubrics": rubrics, "ranked": ranked}
        _ffi.library().buffer_create(self._pump.handle(), encode(document(query_id, given)))

    def buffer(self, query_id: str) -> Buffer:
        """The query's buffer as it is now. NotFoundError if the query is unknown."""
        handle = self._pump.handle()
        return Buffer.from_json(
            json.loads(_ffi.library().buffer_get(handle, c_string(query_id, "query_id")))
        )

    def update(self, result: GroupResult | str) -> None:
        """Applies the change of a group that was scored with ``update=False``.

        ``result`` is the group's result or its group id. StaleError if the buffer
        has changed since the group was scored, or if the change was applied before;
        BusyError while other groups of the query are in flight.
        """
        group_id = result.group_id if isinstance(result, GroupResult) else result
        _ffi.library().update(self._pump.handle(), c_string(group_id, "group_id"))

    def write_rubrics(self, query_id: str, *, query: Query, ranked: Iterable[str]) -> list[Rubric]:
        """Has the judge write 3 to 5 rubrics for a query from its ranked responses.

        Arguments as in ``create_buffer``. Changes nothing: give the rubrics back with
        the query to use them. JudgeError if the judge fails or writes none that can
        be used.
        """
        handle = self._pump.handle()
        body = encode(document(query_id, {"query": query, "ranked": ranked}))
        raw = interruptibly(lambda: _ffi.library().rubrics_write(handle, body))
        return [Rubric(r["text"], weight=r["weight"]) for r in json.loads(raw)]

    # Groups.

    @taking(WholeOptions)
    def score_group(
        self, query_id: str, responses: Iterable[str], **options: Unpack[WholeOptions]
    ) -> GroupResult:
        """Scores a group of responses to one query and waits for the result.

        >>> import rankbuffer as rb
        >>> with rb.Scorer(judge=rb.SimulatedJudge(qualities={"4": 1, "5": 0})) as scorer:
        ...     result = scorer.score_group("q1", ["5", "4"], query="2 + 2?", step=1)
        >>> result.rewards
        [-1.0, 1.0]

        ``query_id``
            The name of the query.
        ``responses``
            The texts of the policy's rollouts, 1 or more. The lists of the result have
            their order.

        Ctrl-C cancels the group and is raised at once.

        InputError names a field that cannot be used. ConflictError if the query id is
        known with other content. BusyError if too many groups are in flight. A judge that
        fails raises nothing: see ``result.status``, or set ``on_failure="raise"`` for a
        JudgeError.
        """
        pending, body = Pending(self._pump), group(query_id, responses, options)
        try:
            _submit(pending, body)
            return GroupResult.from_json(pending.wait())
        except BaseException:
            pending.cancel()
            raise

    @taking(WholeOptions)
    async def score_group_async(
        self, query_id: str, responses: Iterable[str], **options: Unpack[WholeOptions]
    ) -> GroupResult:
        """``score_group`` for asyncio. Cancelling the task cancels the group."""
        pending, body = Pending(self._pump), group(query_id, responses, options)
        try:
            _submit(pending, body)
            return GroupResult.from_json(await pending.wait_async())
        except BaseException:
            pending.cancel()
            raise

    @taking(OpenOptions)
    def open_group(
        self, query_id: str, *, expected: int, **options: Unpack[OpenOptions]
    ) -> OpenGroup:
        """A group whose responses come one by one and are judged as they come.

        >>> import rankbuffer as rb
        >>> scorer = rb.Scorer(judge=rb.SimulatedJudge(qualities={"4": 1, "5": 0}))
        >>> with scorer.open_group("q1", expected=2, query="2 + 2?", deadline=60) as group:
        ...     place = group.add("4"), group.add("5")
        >>> group.result.rewards
        [1.0, -1.0]

        ``query_id``
            The name of the query.
        ``expected``
            How many responses will come, 1 or more.

        With ``async with``, ``await group.add(text)`` gives the response's reward once the
        whole group is done: await each ``add`` in a task of its own, never one after the
        other.

        Groups of one query take turns. This one takes its turn when the block is entered,
        and later ones wait until it closes: give a ``deadline`` if a response may never
        come. A response that comes after the deadline is left out without an error, and
        its place has the status ``timeout``.

        InputError names a field that cannot be used; entering the block raises what
        ``score_group`` raises.
        """
        self._pump.handle()
        return OpenGroup(self._pump, encode(document(query_id, options, OpenOptions)), expected)

    # All queries at once.

    def snapshot(self, path: str | os.PathLike[str]) -> None:
        """Writes a checkpoint: every buffer to one file, while scoring goes on.

        Each query is in it as before or after a whole group, and equal buffers give
        equal bytes. The file appears completely or not at all. FileError if it cannot
        be written.
        """
        _ffi.library().snapshot(self._pump.handle(), _ffi.c_path(path))

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Replaces every buffer by those of a checkpoint.

        BusyError while groups are in flight. FileError if the file cannot be read.
        CheckpointError if it is damaged, no checkpoint, of another method, or written
        by a newer version. After an error the scorer is as it was.
        """
        _ffi.library().restore(self._pump.handle(), _ffi.c_path(path))

    def journal(
        self,
        path: str | os.PathLike[str] | None,
        *,
        snapshot: str | os.PathLike[str] | None = None,
    ) -> None:
        """Writes every later change to a journal, before the result of its group is returned.

        ``path``
            A new file; None ends the journal.
        ``snapshot``
            Also write a checkpoint of the state at which the journal begins. Checkpoint
            and journal together restore this scorer, whenever its process dies.

        FileError if a file cannot be written or ``path`` exists. What cannot be written
        later on fails no group; ``stats()["journal"]`` counts it.
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
        until_after_checkpoint: int | None = None,
        shard: tuple[int, int] | None = None,
        results: int | None = None,
    ) -> dict[str, Any]:
        """Replaces every buffer by those of checkpoints, and of journals that follow them.

        ``checkpoints``, ``journals``
            Files; the journals oldest first.
        ``until_step``
            Keep the groups with ``step <= until_step``, and those without a step whose
            ``after_checkpoint`` is below it.
        ``until_after_checkpoint``
            Keep the groups whose ``after_checkpoint`` is below it.
        ``shard``
            ``(index, count)``: keep the queries with
            ``zlib.crc32(query_id.encode()) % count == index``.
        ``results``
            Return the newest so many results; None: all.

        Returns a dict: ``queries`` known now, journal ``entries`` applied and ``skipped``,
        whether a journal was ``torn`` (its writer died within an entry),
        ``after_checkpoint``, the newest one of the groups whose entries were applied (0 if
        none has one), and ``results``, in the order of the journals, a dict for each group
        with a ``result_key`` whose entry was applied:

        - ``result_key`` and ``query_id``,
        - ``result``, for ``GroupResult.from_json``: what the group's caller was given, or
          would have been,
        - ``responses``: of each response, the first 24 hex digits of the SHA-256 of its
          text as it was added, in UTF-8.

        Journals hold groups whose ``group_status`` is ok, also those that had nothing to
        change (``applied`` is false). Other groups changed nothing and may be scored
        again; so may those with ``validate=True`` or ``update=False``, which no journal
        holds. Checkpoints hold no results. Errors as in ``restore``.
        """
        sources: dict[str, Any] = {
            "checkpoints": [os.fspath(path) for path in checkpoints],
            "journals": [os.fspath(path) for path in journals],
        }
        until = {"step": until_step, "after_checkpoint": until_after_checkpoint}
        if given := {k: integer(v, f"until.{k}") for k, v in until.items() if v is not None}:
            sources["until"] = given
        if results is not None:
            sources["results"] = integer(results, "results")
        if shard is not None:
            sources["shard"] = {"index": shard[0], "count": shard[1]}
        raw = _ffi.library().restore_from(self._pump.handle(), encode(sources))
        found: dict[str, Any] = json.loads(raw)
        return found

    def check(self, deadline: float = 30.0) -> None:
        """Asks each endpoint of the judge whether it can be used, before a run.

        JudgeError if an endpoint cannot be reached, refuses the key or does not serve the
        model, or if that takes longer than ``deadline`` seconds. A simulated judge always
        passes.
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
            "pass scorer.config and make another with Scorer(config)"
        )


def check(config: ScorerConfig, queries: Iterable[Mapping[str, Any]] = ()) -> None:
    """Checks a configuration, and queries to be scored with it, before a run.

    It asks no judge and keeps nothing. ``Scorer.check`` asks the judge.

    >>> import rankbuffer as rb
    >>> config = rb.ScorerConfig(judge=rb.Judge(base_url="http://localhost:8000/v1", model="m"))
    >>> rb.check(config, [{"query_id": "q1", "query": "2 + 2?", "ranked": ["4", "5"]}])
    >>> rb.check(config, [{"query_id": "q2", "query": "2 + 3?", "ranked": ["5"]}])
    Traceback (most recent call last):
    rankbuffer.errors.InputError: queries[0].ranked: need at least 2 responses, best first, got 1

    ``config``
        What a scorer is to be made from.
    ``queries``
        Mappings with a ``query_id`` and ``query``, and with ``rubrics``, ``ranked`` and
        ``reference`` as ``Scorer.score_group`` takes them.

    Raises the first error that making the scorer, or scoring a group of one of the queries,
    would raise: ConfigError for an option, FileError for a prompt template, InputError or
    ConflictError for a query, whose ``field`` begins with ``queries[i]``.
    """
    with of_the_config():
        settings = encode(config.to_json())
    asked = []
    for i, given in enumerate(queries):
        try:
            content = {name: value for name, value in given.items() if name != "query_id"}
            asked.append(document(given.get("query_id"), content, GroupOptions))
        except InputError as error:
            raise error.within(f"queries[{i}]") from None
    try:
        body = b'{"config":%b,"queries":%b}' % (settings, encode(asked, "queries"))
        _ffi.library().check(body)
    except InputError as error:
        of_query = error.field.startswith("queries[")
        raise error.within(kind=InputError if of_query else ConfigError) from None


def inspect(path: str | os.PathLike[str], query_id: str | None = None) -> dict[str, Any]:
    """Reads a checkpoint without a scorer.

    Returns ``{"meta", "queries": [buffers]}``, or with ``query_id`` that query's buffer
    alone, each as ``Buffer.raw``. NotFoundError if the query is not in the file; FileError
    and CheckpointError as in ``Scorer.restore``.
    """
    wanted = None if query_id is None else c_string(query_id, "query_id")
    found: dict[str, Any] = json.loads(_ffi.library().inspect(_ffi.c_path(path), wanted))
    return found


def _submit(pending: Pending, body: bytes) -> None:
    pending.start(lambda library, handle, ticket: library.score_submit(handle, body, ticket))
