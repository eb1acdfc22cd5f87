"""Our options in a trainer's configuration: everything under ``reward.rankbuffer``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from ..config import ScorerConfig
from ..errors import ConfigError, RankBufferError

PREFIX = "reward.rankbuffer"
"""Where our options live; errors name them by their full path, as overrides do."""


@dataclass(frozen=True, kw_only=True)
class RendezvousSettings:
    """How the rollouts of one uid are brought together.

    ``deadline_s``: a group ends, and is scored with the rollouts that came, when
    none came for this long. ``owners``: processes that hold the buffers when
    ``reward.num_workers`` is above 1. ``group_size`` replaces ``rollout.n``.
    ``turns``: the judge sees the last assistant turn of a multi-turn rollout, or
    everything after the prompt. ``tool_call``: tags of tool calls, which are cut
    out of multi-turn rollouts. ``multimodal``: keep the text parts of a prompt
    with images, or refuse such rows. ``restart_s``: how long rollouts wait for an
    owner that died to be back. ``batch_wait_s``: how long a row of the batch path
    that names no group waits for its siblings.
    """

    deadline_s: float = 1800.0
    owners: int = 1
    group_size: int | None = None
    turns: Literal["last", "all"] = "last"
    tool_call: tuple[str, str] = ("<tool_call>", "</tool_call>")
    multimodal: Literal["text", "refuse"] = "text"
    restart_s: float = 120.0
    batch_wait_s: float = 5.0

    def check(self) -> None:
        at = f"{PREFIX}.rendezvous"
        for name in ("deadline_s", "restart_s", "batch_wait_s"):
            _positive(getattr(self, name), f"{at}.{name}")
        _at_least(self.owners, 1, f"{at}.owners")
        if self.group_size is not None:
            _at_least(self.group_size, 1, f"{at}.group_size")
        _one_of(self.turns, ("last", "all"), f"{at}.turns")
        _one_of(self.multimodal, ("text", "refuse"), f"{at}.multimodal")
        if len(self.tool_call) != 2 or not all(isinstance(t, str) and t for t in self.tool_call):
            raise ConfigError(f"{at}.tool_call: must be the opening and the closing tag")


@dataclass(frozen=True, kw_only=True)
class CheckpointSettings:
    """Where the buffers are kept, and what to do when a resumed step has none.

    ``dir`` replaces ``trainer.default_local_dir``. ``on_missing``: a resumed step
    that our files cannot reproduce stops the run, or starts with empty buffers.
    """

    dir: str | None = None
    on_missing: Literal["fail", "fresh"] = "fail"

    def check(self) -> None:
        _one_of(self.on_missing, ("fail", "fresh"), f"{PREFIX}.checkpoint.on_missing")
        if self.dir is not None and not isinstance(self.dir, str):
            raise ConfigError(f"{PREFIX}.checkpoint.dir: must be a path")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All of it. ``side_file`` is what ``rankbuffer prepare --side-file`` wrote."""

    scorer: ScorerConfig
    rendezvous: RendezvousSettings = field(default_factory=RendezvousSettings)
    checkpoint: CheckpointSettings = field(default_factory=CheckpointSettings)
    side_file: str | None = None

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> Settings:
        """From ``reward.rankbuffer`` as plain mappings. ConfigError names the option."""
        options = _with_file(given)
        ours = {"rendezvous", "checkpoint", "side_file"}
        theirs = {f.name for f in fields(ScorerConfig)}
        for option in options:
            if option not in ours | theirs:
                known = ", ".join(sorted(ours | theirs | {"config"}))
                raise ConfigError(f"{PREFIX}.{option}: unknown option, known are {known}")
        method = options.get("method")
        if isinstance(method, str):
            options["method"] = {"name": method}
        elif isinstance(method, Mapping):
            options["method"] = {"name": "rankbuffer", **method}
        if "judge" not in options:
            raise ConfigError(
                f"{PREFIX}.judge: missing; add +{PREFIX}.judge.base_url=http://HOST:PORT/v1 "
                f"+{PREFIX}.judge.model=NAME"
            )
        try:
            scorer = ScorerConfig.from_dict({k: v for k, v in options.items() if k in theirs})
            scorer.to_json()
        except RankBufferError as error:
            raise ConfigError(f"{PREFIX}.{error}") from None
        side_file = options.get("side_file")
        if side_file is not None and not isinstance(side_file, str):
            raise ConfigError(f"{PREFIX}.side_file: must be a path")
        settings = cls(
            scorer=scorer,
            rendezvous=_section(RendezvousSettings, options, "rendezvous"),
            checkpoint=_section(CheckpointSettings, options, "checkpoint"),
            side_file=side_file,
        )
        settings.rendezvous.check()
        settings.checkpoint.check()
        return settings


def _with_file(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options, those of ``config=FILE`` below those given beside it."""
    options = dict(given)
    path = options.pop("config", None)
    if path is None:
        return options
    if not isinstance(path, str):
        raise ConfigError(f"{PREFIX}.config: must be the path of a YAML file")
    base = read_yaml(path)
    for name, value in options.items():
        old = base.get(name)
        base[name] = (
            {**old, **value} if isinstance(old, Mapping) and isinstance(value, Mapping) else value
        )
    return base


def read_yaml(path: str) -> dict[str, Any]:
    """A YAML file that holds one mapping."""
    try:
        import yaml
    except ImportError:
        raise ConfigError(f"{path}: reading YAML needs PyYAML (pip install pyyaml)") from None
    try:
        value = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not YAML: {error}") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: must hold one mapping of options")
    return value


S = TypeVar("S", RendezvousSettings, CheckpointSettings)


def _section(kind: type[S], options: Mapping[str, Any], name: str) -> S:
    given = options.get(name)
    if given is None:
        return kind()
    if not isinstance(given, Mapping):
        raise ConfigError(f"{PREFIX}.{name}: must be a mapping of options")
    known = {f.name for f in fields(kind)}
    for option in given:
        if option not in known:
            raise ConfigError(
                f"{PREFIX}.{name}.{option}: unknown option, known are {', '.join(sorted(known))}"
            )
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    return kind(**values)


def _positive(value: object, where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise ConfigError(f"{where}: {value!r} is not a number of seconds above 0")


def _at_least(value: object, least: int, where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{where}: {value!r} is not a whole number of at least {least}")


def _one_of(value: object, known: tuple[str, ...], where: str) -> None:
    if value not in known:
        raise ConfigError(f"{where}: {value!r} is not one of {', '.join(known)}")
