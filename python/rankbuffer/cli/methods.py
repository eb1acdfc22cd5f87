"""``rankbuffer methods``: the reward methods, what they cost and what can be set."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from typing import Any, Final

from .._options import options, summary
from ..methods import METHODS, Method
from .common.options import Commands, UsageError, add_command, add_options
from .common.text import Style, terminal_width

_INDENT: Final[dict[str, Any]] = {"initial_indent": "      ", "subsequent_indent": "      "}


def add(commands: Commands) -> None:
    parser = add_command(
        commands, "methods", run,
        "list the reward methods and their options",
        "Lists the reward methods, or describes one of them with its options.\n"
        "Calls are the judge calls for a group of n distinct responses.",
    )  # fmt: skip
    add_options(parser, {"NAME": "Describe this method."}, name={"nargs": "?"})


def run(args: argparse.Namespace) -> int:
    if args.name is None:
        rows = [(name, kind.calls, _first(kind)) for name, kind in METHODS.items()]
        width = terminal_width() - max(len(r[0]) for r in rows) - max(len(r[1]) for r in rows) - 4
        for line in _listing(rows, width):
            print(line)
        return 0
    if args.name not in METHODS:
        raise UsageError(f"{args.name!r} is not one of {', '.join(METHODS)}")
    _tell(args.name, METHODS[args.name])
    return 0


def _listing(rows: list[tuple[str, str, str]], width: int) -> list[str]:
    """Name, calls and summary, the summary wrapped in its column."""
    cells = []
    for name, calls, text in rows:
        for i, part in enumerate(textwrap.wrap(text, width)):
            cells.append((part, name if i == 0 else "", calls if i == 0 else ""))
    names = max(len(name) for name, _, _ in rows)
    counts = max(len(calls) for _, calls, _ in rows)
    return [
        f"{name:<{names}}  {calls:<{counts}}  {part}".rstrip()
        for part, name, calls in [("", "method", "calls"), *cells]
    ]


def _first(kind: type[Method]) -> str:
    return summary(kind).split("\n\n")[0].replace("\n", " ").replace("``", "")


def _tell(name: str, kind: type[Method]) -> None:
    print(Style(sys.stdout)(f"{name}, in Python rankbuffer.{kind.__name__}", "bold"))
    for paragraph in summary(kind).replace("``", "").split("\n\n"):
        print("\n".join(textwrap.wrap(paragraph, terminal_width())))
    print(f"\nCalls for a group of n distinct responses, with the defaults: {kind.calls}")
    print("\nOptions and their defaults:")
    for option in options(kind).values():
        others = [json.dumps(value) for value in option.choices if value != option.default]
        choices = f"  (or {', '.join(others)})" if others else ""
        print(f"  {option.name} = {json.dumps(option.default)}{choices}")
        print(textwrap.fill(option.help, terminal_width(), **_INDENT))
