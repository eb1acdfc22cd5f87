"""Where our options are: beside verl's own, or in a YAML file that is named there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import ConfigError

PREFIX = "reward.rankbuffer"
"""Where our options live; errors name them by their full path, as overrides do."""


def with_file(given: Mapping[str, Any]) -> dict[str, Any]:
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
