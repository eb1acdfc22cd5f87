"""The options under ``reward.rankbuffer`` in a trainer's configuration."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, NoReturn, TypeVar

from ..._options import Option, documented, known_names, made_from
from ..._options import options as stated
from ...config import ScorerConfig
from ...errors import ConfigError, RankBufferError
from .config_file import PREFIX as PREFIX
from .config_file import with_file


@documented
@dataclass(frozen=True, kw_only=True)
class RendezvousSettings:
    """How the rollouts of one uid are brought together."""

    deadline_s: Annotated[
        float,
        "if no rollout of a group comes for so many seconds, the group is scored without the "
        "missing ones",
    ] = 1800.0
    owners: Annotated[int, "how many actors hold the buffers if reward.num_workers is above 1"] = 1
    turns: Annotated[
        Literal["last", "all"],
        "the judge sees the last assistant turn of a multi-turn rollout, or all of them",
    ] = "last"
    tool_call: Annotated[
        tuple[str, str], "the tags of tool calls, which are cut out of multi-turn rollouts"
    ] = ("<tool_call>", "</tool_call>")
    multimodal: Annotated[
        Literal["text", "refuse"], "keep the text of a prompt with images, or refuse such rows"
    ] = "text"
    restart_s: Annotated[
        float,
        "seconds for which reward workers try to start an owner that has ended, and owners wait "
        "for a heartbeat of a reward worker",
    ] = 120.0
    batch_wait_s: Annotated[
        float,
        "seconds for which a row of verl's batch path that may be padding, or has no uid, waits "
        "for the rest of its group",
    ] = 5.0


@documented
@dataclass(frozen=True, kw_only=True)
class CheckpointSettings:
    """What to do if no saved state covers the step that is resumed."""

    on_missing: Annotated[Literal["fail", "fresh"], "stop the run, or start with empty buffers"] = (
        "fail"
    )


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All options under ``reward.rankbuffer``.

    ``side_file``: the files that ``rankbuffer prepare`` wrote beside its parquet files.
    """

    scorer: ScorerConfig
    rendezvous: RendezvousSettings = field(default_factory=RendezvousSettings)
    checkpoint: CheckpointSettings = field(default_factory=CheckpointSettings)
    side_file: str | tuple[str, ...] | None = None

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> Settings:
        """From ``reward.rankbuffer`` as plain mappings. ConfigError names the option."""
        options = with_file(given)
        ours = {"rendezvous", "checkpoint", "side_file"}
        theirs = {f.name for f in fields(ScorerConfig)}
        names = sorted(ours | theirs | {"config"})
        for option in options:
            if option not in ours | theirs:
                said = f"unknown option, known are {known_names(option, names)}"
                raise ConfigError(said, f"{PREFIX}.{option}", code="unknown_field")
        method = options.get("method")
        if isinstance(method, str):
            options["method"] = {"name": method}
        elif isinstance(method, Mapping):
            options["method"] = {"name": "rankbuffer", **method}
        if "judge" not in options:
            raise ConfigError(
                f"missing; add +{PREFIX}.judge.base_url=http://HOST:PORT/v1 "
                f"+{PREFIX}.judge.model=NAME",
                f"{PREFIX}.judge",
                code="missing_field",
            )
        try:
            scorer = ScorerConfig.from_dict({k: v for k, v in options.items() if k in theirs})
            scorer.to_json()
        except RankBufferError as error:
            raise error.within(PREFIX, ConfigError) from None
        return cls(
            scorer=scorer,
            rendezvous=_section(RendezvousSettings, options, "rendezvous"),
            checkpoint=_section(CheckpointSettings, options, "checkpoint"),
            side_file=_side_file(options.get("side_file")),
        )


S = TypeVar("S", RendezvousSettings, CheckpointSettings)


def _section(kind: type[S], options: Mapping[str, Any], name: str) -> S:
    given = options.get(name)
    if given is None:
        return kind()
    if not isinstance(given, Mapping):
        raise ConfigError("must be a mapping of options", f"{PREFIX}.{name}")
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    section = made_from(kind, values, f"{PREFIX}.{name}")
    for option in stated(kind).values():
        _check(getattr(section, option.name), option, f"{PREFIX}.{name}.{option.name}")
    return section


def _check(value: object, option: Option, where: str) -> None:
    """Raises ConfigError if a value is not of its option's type."""
    example: Any = option.default
    if option.choices:
        good, wanted = value in option.choices, f"one of {', '.join(option.choices)}"
    elif option.type is int:
        good = type(value) is int and value >= 1
        wanted = "a whole number of at least 1"
    elif option.type is float:
        good = type(value) in (int, float) and 0 < value < math.inf  # type: ignore[operator]
        wanted = "a number of seconds above 0"
    else:
        # A string has a length too, so "ab" must not pass for two tags.
        good = isinstance(value, tuple) and len(value) == 2
        good = good and all(isinstance(tag, str) and tag for tag in value)  # type: ignore[attr-defined]
        wanted = "a list of the opening and the closing tag"
        example = f"'{json.dumps(example)}'"
    if not good:
        _refuse(value, where, wanted, example)


def _side_file(given: object) -> str | tuple[str, ...] | None:
    paths = given if isinstance(given, list) else [] if given is None else [given]
    if not all(isinstance(path, str) and path for path in paths):
        _refuse(given, f"{PREFIX}.side_file", "a path or a list of paths", "FILE.side.jsonl")
    return tuple(paths) or None


def _refuse(value: object, where: str, wanted: str, example: object) -> NoReturn:
    """Raises ConfigError with the option's path, what it must be, and an override."""
    raise ConfigError(f"{value!r:.100} is not {wanted}: set +{where}={example}", where)
