"""The reward methods: one frozen dataclass each, holding its options.

What an option may be is checked by the library when a scorer is built, so that
one place decides; the message names the option. ``METHODS`` maps the names used
in configuration files and on the command line to the classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from .errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Method:
    """What every method has.

    ``format_weight`` times the format reward is added to each reward;
    ``format_check`` computes the format reward (``"think_answer"``: 1 when
    ``<think>`` and ``<answer>`` are well formed, else 0) unless the group brings
    ``format_scores``; without either it is 0. ``dedupe`` judges identical
    responses once.
    """

    name: ClassVar[str]
    """What the method is called in configuration files and on the command line."""
    calls: ClassVar[str]
    """Judge calls for a group of n distinct responses, with the default options."""

    format_weight: float = 0.2
    format_check: Literal["think_answer"] | None = None
    dedupe: bool = True

    def to_json(self) -> dict[str, Any]:
        """``{"name", options}``; options that are None are left out."""
        options = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            "name": self.name,
            **{name: value for name, value in options.items() if value is not None},
        }


@dataclass(frozen=True, kw_only=True)
class RankBuffer(Method):
    """Places each response on its query's scale of anchors and orders those that share an interval.

    ``k0`` anchors at the start (at least 2), from the query's ranked responses
    or from its first group (``init``). ``max_anchors`` bounds the scale, which
    otherwise grows by a bit more than one anchor an epoch. An inner anchor goes
    after ``prune_after_epochs`` epochs without a response beside it;
    ``freeze_after_epochs`` epochs after the start the scale stays as it is.
    ``coarse_only`` leaves the responses of one interval tied; ``order_only``
    shows the judge anchor ids without text; ``manager`` lets the judge choose
    the anchors instead of the rules.
    """

    name: ClassVar[str] = "rankbuffer"
    calls: ClassVar[str] = "n + intervals shared"

    k0: int = 4
    init: Literal["auto", "ranked", "bootstrap"] = "auto"
    max_anchors: int | None = None
    prune_after_epochs: int = 3
    freeze_after_epochs: int | None = None
    coarse_only: bool = False
    order_only: bool = False
    manager: Literal["llm", "llm_lookahead"] | None = None


@dataclass(frozen=True, kw_only=True)
class SCR(Method):
    """RRC's self-comparison: every pair judged by ``votes`` calls.

    The reward is ``alpha`` times the wins, or times the responses ranked below
    in CARA's consistent order.
    """

    name: ClassVar[str] = "scr"
    calls: ClassVar[str] = "n(n-1)/2"

    votes: int = 1
    aggregate: Literal["wins", "cara"] = "wins"
    alpha: float = 0.1
    both_orders: bool = False
    format_weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class AGR(Method):
    """RRC's anchor-guided reward: ``alpha`` times the fixed anchors a response beats.

    The anchors are the query's ranked responses unless ``anchors`` gives others,
    best first. ``search="binary"`` places a response with O(log n) calls.
    """

    name: ClassVar[str] = "agr"
    calls: ClassVar[str] = "anchors x n"

    votes: int = 1
    search: Literal["all", "binary"] = "all"
    anchors: Sequence[str] | None = None
    alpha: float = 0.1
    both_orders: bool = False
    format_weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class PRC(Method):
    """Probability that the judge prefers a response over the group's ``reference``.

    ``aggregate``: of ``votes`` calls, the mean probability or the share of wins.
    ``reasoning`` lets the judge think before it answers.
    """

    name: ClassVar[str] = "prc"
    calls: ClassVar[str] = "n"

    votes: int = 1
    aggregate: Literal["soft", "majority"] = "soft"
    reasoning: bool = False
    both_orders: bool = False
    format_weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class GenRM(Method):
    """Point-wise generative reward model: probability of the positive label token."""

    name: ClassVar[str] = "genrm"
    calls: ClassVar[str] = "n"

    format_weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Tournament(Method):
    """Tournament-GRPO: rounds of small groups whose winners advance, repeated with other draws.

    ``round_weights`` says what a win counts in each round, the last for all
    further ones; None: 1.
    """

    name: ClassVar[str] = "tournament"
    calls: ClassVar[str] = "(n-1) x repeats"

    group_size: int = 2
    k_win: int = 1
    k_final: int = 1
    repeats: int = 3
    round_weights: Sequence[float] | None = None
    format_weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Arena(Method):
    """ArenaRL: a seeded single elimination, in which the first response seeds the bracket."""

    name: ClassVar[str] = "arena"
    calls: ClassVar[str] = "4(n-1)"


@dataclass(frozen=True, kw_only=True)
class Pairwise(Method):
    """All pairs judged; reward by the rank of the win rate."""

    name: ClassVar[str] = "pairwise"
    calls: ClassVar[str] = "n(n-1)/2"

    votes: int = 1
    both_orders: bool = False


@dataclass(frozen=True, kw_only=True)
class Pointwise(Method):
    """One 0-10 score a response; ``rank_transform`` rewards its rank in the group instead."""

    name: ClassVar[str] = "pointwise"
    calls: ClassVar[str] = "n"

    rank_transform: bool = False


@dataclass(frozen=True, kw_only=True)
class GDPO(Method):
    """One score for each rubric, normalised within the group before the weighted sum."""

    name: ClassVar[str] = "gdpo"
    calls: ClassVar[str] = "rubrics x n"


@dataclass(frozen=True, kw_only=True)
class Implicit(Method):
    """One score for all rubrics together; ``scale`` 1 rewards 0..1, 10 rewards 0..10."""

    name: ClassVar[str] = "implicit"
    calls: ClassVar[str] = "n"

    scale: int = 1
    format_weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Explicit(Method):
    """One call a rubric, averaged by weight; ``scale`` 1 rewards 0..1, 10 rewards 0..10."""

    name: ClassVar[str] = "explicit"
    calls: ClassVar[str] = "rubrics x n"

    scale: int = 1
    format_weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class WinRate(Method):
    """All pairs judged; the reward is the win rate."""

    name: ClassVar[str] = "winrate"
    calls: ClassVar[str] = "n(n-1)/2"

    votes: int = 1
    both_orders: bool = False
    format_weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Listwise(Method):
    """One call orders the whole group; ``repeats`` in other orders are averaged by Borda count."""

    name: ClassVar[str] = "listwise"
    calls: ClassVar[str] = "repeats"

    repeats: int = 1


METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        RankBuffer,
        SCR,
        AGR,
        PRC,
        GenRM,
        Tournament,
        Arena,
        Pairwise,
        Pointwise,
        GDPO,
        Implicit,
        Explicit,
        WinRate,
        Listwise,
    )
}


def method_from_dict(options: Mapping[str, Any]) -> Method:
    """A method from ``{"name": ..., option: value}``, as configuration files have it."""
    if not isinstance(options, Mapping):
        raise ConfigError(f"method must be a mapping with a name, got {type(options).__name__}")
    given = dict(options)
    name = given.pop("name", None)
    kind = METHODS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ConfigError(f"method.name: {name!r} is not one of {', '.join(METHODS)}")
    known = {f.name for f in fields(kind)}
    for option in given:
        if option not in known:
            raise ConfigError(
                f"method.{name}.{option}: unknown option, known are {', '.join(sorted(known))}"
            )
    return kind(**given)
