"""Parsers of commands, and values of options: ``name=value`` pairs and whole numbers."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...errors import RankBufferError

_POINT = re.compile(r"\.\d+")  # as .5 is written, which JSON does not know


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class UsageError(RankBufferError):
    """The command was called with options that do not go together or mean nothing."""


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
    description: str,
    epilog: str = "",
) -> argparse.ArgumentParser:
    """The parser of a command; ``run`` gets its arguments and returns the exit code."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_options(
    parser: argparse._ActionsContainer, helps: Mapping[str, str], **more: Mapping[str, Any]
) -> None:
    """Adds options and positional arguments, each with its help text.

    ``"-o --out OUT"`` is an option with a value, ``"--check"`` a switch and ``"GROUPS"``
    a positional argument. ``more`` has further arguments of ``add_argument`` by the
    name that the option has in the namespace.
    """
    for spec, text in helps.items():
        flags = [word for word in spec.split() if word.startswith("-")]
        values = [word for word in spec.split() if not word.startswith("-")]
        name = flags[-1].lstrip("-").replace("-", "_") if flags else spec.lower()
        how: dict[str, Any] = {"metavar": values[0]} if values else {"action": "store_true"}
        parser.add_argument(*(flags or [name]), help=text, **how | dict(more.get(name, {})))


REQUIRED = {"required": True}
REPEATED = {"action": "append", "default": []}


def option(text: str) -> tuple[str, Any]:
    """``name=value``; the value is read as JSON where it is JSON, else it is a string."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    try:
        return name, json.loads(f"0{value}" if _POINT.fullmatch(value) else value)
    except ValueError:
        return name, value


def options(text: str) -> dict[str, Any]:
    """``name=value,name=value``; empty for none."""
    pairs = [option(part.strip()) for part in text.split(",") if part.strip()]
    if len({name for name, _ in pairs}) < len(pairs):
        raise argparse.ArgumentTypeError(f"{text!r} names an option twice")
    return dict(pairs)


def positive(text: str) -> int:
    """A whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)
