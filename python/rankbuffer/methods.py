"""The reward methods: one frozen dataclass each, holding its options.

A new method needs its class here, with the defaults that its Go file has: a test
compares them. The library checks the values when a scorer is made. ``METHODS``
maps the names used in configuration files and on the command line to the classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from ._options import documented, known_names, made_from
from .errors import ConfigError

FormatWeight: TypeAlias = Annotated[
    float, "the format reward is added to each reward after multiplication by this"
]
Votes: TypeAlias = Annotated[
    int, "calls for each pair; each shows the pair in an order and with a seed of its own"
]
BothOrders: TypeAlias = Annotated[
    bool, "ask for each pair in both orders; if the two verdicts differ, the pair is tied"
]
Scale: TypeAlias = Annotated[Literal[1, 10], "1: rewards in 0..1; 10: in 0..10"]


@dataclass(frozen=True, kw_only=True)
class Method:
    """What every method has."""

    name: ClassVar[str]
    """The method in configuration files and on the command line: its class in lower case."""
    calls: ClassVar[str]
    """Judge calls for a group of n distinct responses, with the default options."""
    needs_group: ClassVar[bool] = False
    """It only compares responses, so that one response alone gets no reward."""

    format_weight: FormatWeight = 0.2
    format_check: Annotated[
        Literal["think_answer"] | None,
        "think_answer: the format reward is 1 if <think> and <answer> are well formed, else "
        "0. A group's format_scores replace it. Without either it is 0",
    ] = None
    dedupe: Annotated[bool, "judge identical responses once"] = True

    def __init_subclass__(cls) -> None:
        cls.name = cls.__name__.lower()

    def to_json(self) -> dict[str, Any]:
        """``{"name", options}``; options that are None are left out."""
        options = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            "name": self.name,
            **{name: value for name, value in options.items() if value is not None},
        }


@dataclass(frozen=True, kw_only=True)
class RankBuffer(Method):
    """Places each response among its query's anchors and orders those that share an interval.

    The anchors are the query's buffer: responses in a known order, worst to best. The
    buffer follows the policy, since groups add anchors to it.
    """

    calls: ClassVar[str] = "n + intervals shared"
    needs_group: ClassVar[bool] = True

    k0: Annotated[int, "anchors at the start, at least 2"] = 4
    init: Annotated[
        Literal["auto", "ranked", "bootstrap"],
        "where the first anchors come from: the query's ranked responses, its first group "
        "(bootstrap), or the former if there are any (auto)",
    ] = "auto"
    max_anchors: Annotated[
        int | None,
        "the most anchors a buffer may have. Without it a buffer grows by a bit more than "
        "one anchor an epoch",
    ] = None
    prune_after_epochs: Annotated[
        int, "an inner anchor leaves after this many epochs without a response beside it"
    ] = 3
    freeze_after_epochs: Annotated[
        int | None, "after this many epochs of a query its buffer stays as it is"
    ] = None
    coarse_only: Annotated[bool, "leave the responses of one interval tied"] = False
    order_only: Annotated[bool, "show the judge the anchors' ids without their text"] = False
    manager: Annotated[
        Literal["llm", "llm_lookahead"] | None,
        "let the judge choose the anchors instead of the rules; with llm_lookahead it also "
        "sees the query's next group",
    ] = None


@dataclass(frozen=True, kw_only=True)
class SCR(Method):
    """RRC's self-comparison: every pair is judged.

    The reward is ``alpha`` times the wins, or times the responses ranked below in
    CARA's consistent order.
    """

    calls: ClassVar[str] = "n(n-1)/2"
    needs_group: ClassVar[bool] = True

    votes: Votes = 1
    aggregate: Annotated[
        Literal["wins", "cara"], "what the reward counts: wins, or responses below in CARA's order"
    ] = "wins"
    alpha: Annotated[float, "the reward for each win, or response below"] = 0.1
    both_orders: BothOrders = False
    format_weight: FormatWeight = 1.0


@dataclass(frozen=True, kw_only=True)
class AGR(Method):
    """RRC's anchor-guided reward: ``alpha`` times the fixed anchors that a response beats."""

    calls: ClassVar[str] = "anchors x n"

    votes: Votes = 1
    search: Annotated[
        Literal["all", "binary"],
        "compare with all anchors, or find the place with O(log n) calls (binary)",
    ] = "all"
    anchors: Annotated[
        Sequence[str] | None, "texts, best first, instead of the query's ranked responses"
    ] = None
    alpha: Annotated[float, "the reward for each anchor beaten"] = 0.1
    both_orders: BothOrders = False
    format_weight: FormatWeight = 1.0


@dataclass(frozen=True, kw_only=True)
class PRC(Method):
    """Probability that the judge prefers a response over the group's ``reference``."""

    calls: ClassVar[str] = "n"

    votes: Votes = 1
    aggregate: Annotated[
        Literal["soft", "majority"],
        "the mean probability of the votes (soft), or the share of votes won (majority)",
    ] = "soft"
    reasoning: Annotated[bool, "let the judge think before it decides"] = False
    both_orders: BothOrders = False
    format_weight: FormatWeight = 1.0


@dataclass(frozen=True, kw_only=True)
class GenRM(Method):
    """Point-wise generative reward model: probability of the positive label token."""

    calls: ClassVar[str] = "n"

    format_weight: FormatWeight = 1.0


@dataclass(frozen=True, kw_only=True)
class Tournament(Method):
    """Tournament-GRPO: rounds of small groups whose winners advance, repeated with other draws."""

    calls: ClassVar[str] = "(n-1) x repeats"
    needs_group: ClassVar[bool] = True

    group_size: Annotated[int, "responses in each small group"] = 2
    k_win: Annotated[int, "winners of each small group"] = 1
    k_final: Annotated[int, "the rounds end when so many responses are left"] = 1
    repeats: Annotated[int, "tournaments, each with draws of its own"] = 3
    round_weights: Annotated[
        Sequence[float] | None,
        "what a win counts in each round, the last also in all later ones; without it 1",
    ] = None
    format_weight: FormatWeight = 1.0


@dataclass(frozen=True, kw_only=True)
class Arena(Method):
    """ArenaRL: a seeded single elimination, in which the first response seeds the bracket."""

    calls: ClassVar[str] = "4(n-1)"
    needs_group: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class Pairwise(Method):
    """All pairs judged; the reward is the rank of the win rate."""

    calls: ClassVar[str] = "n(n-1)/2"
    needs_group: ClassVar[bool] = True

    votes: Votes = 1
    both_orders: BothOrders = False


@dataclass(frozen=True, kw_only=True)
class Pointwise(Method):
    """One 0-10 score a response; the reward is 2 score / 10 - 1."""

    calls: ClassVar[str] = "n"

    rank_transform: Annotated[bool, "reward the score's rank in the group instead"] = False


@dataclass(frozen=True, kw_only=True)
class GDPO(Method):
    """One score for each rubric, normalised within the group before the weighted sum."""

    calls: ClassVar[str] = "rubrics x n"


@dataclass(frozen=True, kw_only=True)
class Implicit(Method):
    """One score for all rubrics together."""

    calls: ClassVar[str] = "n"

    scale: Scale = 1
    format_weight: FormatWeight = 1.0


@dataclass(frozen=True, kw_only=True)
class Explicit(Method):
    """One score for each rubric, averaged by weight."""

    calls: ClassVar[str] = "rubrics x n"

    scale: Scale = 1
    format_weight: FormatWeight = 1.0


@dataclass(frozen=True, kw_only=True)
class WinRate(Method):
    """All pairs judged; the reward is the win rate."""

    calls: ClassVar[str] = "n(n-1)/2"
    needs_group: ClassVar[bool] = True

    votes: Votes = 1
    both_orders: BothOrders = False
    format_weight: FormatWeight = 1.0


@dataclass(frozen=True, kw_only=True)
class Listwise(Method):
    """One call orders the whole group; repeats are averaged by Borda count."""

    calls: ClassVar[str] = "repeats"
    needs_group: ClassVar[bool] = True

    repeats: Annotated[int, "calls, each showing the responses in another order"] = 1


METHODS: dict[str, type[Method]] = {kind.name: documented(kind) for kind in Method.__subclasses__()}


def method_from_dict(options: Mapping[str, Any]) -> Method:
    """A method from ``{"name": ..., option: value}``, as configuration files have it.

    ConfigError names an option that is unknown. The library checks the values when a
    scorer is made.
    """
    if not isinstance(options, Mapping):
        raise ConfigError(f"must be a mapping with a name, got {type(options).__name__}", "method")
    name = options.get("name")
    if not isinstance(name, str) or name not in METHODS:
        raise ConfigError(f"{name!r} is not one of {known_names(name, METHODS)}", "method.name")
    given = {option: value for option, value in options.items() if option != "name"}
    return made_from(METHODS[name], given, f"method.{name}")
