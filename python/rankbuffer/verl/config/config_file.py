"""Reads our options: from the trainer's configuration, and from a YAML file named there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import ConfigError

PREFIX = "reward.rankbuffer"
"""The path of our options. Errors name an option by its full path, as overrides do."""


def with_file(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options. Those given beside ``config=FILE`` replace those in the file."""
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
