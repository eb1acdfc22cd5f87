"""Parsers of commands, and values of options: ``name=value`` pairs and whole numbers."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
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
    *,
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
