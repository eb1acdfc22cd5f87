"""The options under ``reward.rankbuffer`` in a trainer's configuration."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NoReturn, TypeVar

from ..._options import made_from
from ...config import ScorerConfig
from ...errors import ConfigError, RankBufferError
from .config_file import PREFIX as PREFIX
from .config_file import with_file


@dataclass(frozen=True, kw_only=True)
class RendezvousSettings:
    """How the rollouts of one uid are brought together.

    - ``deadline_s``: if no rollout of a group comes for so long, the group is scored
      without the missing ones.
    - ``owners``: how many actors hold the buffers if ``reward.num_workers`` is above 1.
    - ``turns``: the judge sees the last assistant turn of a multi-turn rollout, or all.
    - ``tool_call``: the tags of tool calls, which are cut out of multi-turn rollouts.
    - ``multimodal``: keep the text of a prompt with images, or refuse such rows.
    - ``restart_s``: how long reward workers try to start an owner that has ended, and
      owners wait for a heartbeat of a reward worker.
    - ``batch_wait_s``: how long a row of verl's batch path that may be padding, or has
      no uid, waits for the rest of its group.
    """

    deadline_s: float = 1800.0
    owners: int = 1
    turns: Literal["last", "all"] = "last"
    tool_call: tuple[str, str] = ("<tool_call>", "</tool_call>")
    multimodal: Literal["text", "refuse"] = "text"
    restart_s: float = 120.0
    batch_wait_s: float = 5.0

    def check(self) -> None:
        at = f"{PREFIX}.rendezvous"
        for name in ("deadline_s", "restart_s", "batch_wait_s"):
            _seconds(getattr(self, name), f"{at}.{name}", getattr(RendezvousSettings, name))
        _at_least(self.owners, 1, f"{at}.owners")
        _one_of(self.turns, ("last", "all"), f"{at}.turns")
        _one_of(self.multimodal, ("text", "refuse"), f"{at}.multimodal")
        _tags(self.tool_call, f"{at}.tool_call", RendezvousSettings.tool_call)


@dataclass(frozen=True, kw_only=True)
class CheckpointSettings:
    """What to do if no saved state covers the step that is resumed.

    ``on_missing``: ``fail`` stops the run, ``fresh`` starts with empty buffers.
    """

    on_missing: Literal["fail", "fresh"] = "fail"

    def check(self) -> None:
        _one_of(self.on_missing, ("fail", "fresh"), f"{PREFIX}.checkpoint.on_missing")


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
        for option in options:
            if option not in ours | theirs:
                known = ", ".join(sorted(ours | theirs | {"config"}))
                said = f"unknown option, known are {known}"
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
        settings = cls(
            scorer=scorer,
            rendezvous=_section(RendezvousSettings, options, "rendezvous"),
            checkpoint=_section(CheckpointSettings, options, "checkpoint"),
            side_file=_side_file(options.get("side_file")),
        )
        settings.rendezvous.check()
        settings.checkpoint.check()
        return settings


S = TypeVar("S", RendezvousSettings, CheckpointSettings)


def _section(kind: type[S], options: Mapping[str, Any], name: str) -> S:
    given = options.get(name)
    if given is None:
        return kind()
    if not isinstance(given, Mapping):
        raise ConfigError("must be a mapping of options", f"{PREFIX}.{name}")
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    return made_from(kind, values, f"{PREFIX}.{name}")


def _side_file(given: object) -> str | tuple[str, ...] | None:
    paths = given if isinstance(given, list) else [] if given is None else [given]
    if not all(isinstance(path, str) and path for path in paths):
        _refuse(given, f"{PREFIX}.side_file", "a path or a list of paths", "FILE.side.jsonl")
    return tuple(paths) or None


def _seconds(value: object, where: str, default: float) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:  # type: ignore[operator]
        _refuse(value, where, "a number of seconds above 0", default)


def _at_least(value: object, least: int, where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        _refuse(value, where, f"a whole number of at least {least}", least)


def _one_of(value: object, known: tuple[str, ...], where: str) -> None:
    if value not in known:
        _refuse(value, where, f"one of {', '.join(known)}", known[0])


def _tags(value: object, where: str, default: tuple[str, str]) -> None:
    """A string has a length too, so that "ab" would pass for two tags."""
    pair = isinstance(value, (tuple, list)) and len(value) == 2
    if not pair or not all(isinstance(tag, str) and tag for tag in value):  # type: ignore[attr-defined]
        example = f"'{json.dumps(default)}'"
        _refuse(value, where, "a list of the opening and the closing tag", example)


def _refuse(value: object, where: str, wanted: str, example: object) -> NoReturn:
    """Raises ConfigError with the option's path, what it must be, and an override."""
    raise ConfigError(f"{value!r:.100} is not {wanted}: set +{where}={example}", where)
