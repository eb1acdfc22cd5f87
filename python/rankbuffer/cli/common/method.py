"""The options that say which reward method is used, and the method that they make."""

from __future__ import annotations

import argparse

from ...errors import ConfigError
from ...methods import METHODS, Method, method_from_dict
from .options import UsageError, option


def add_method(parser: argparse.ArgumentParser) -> None:
    """``--method`` and ``--option``, for commands that use one method."""
    parser.add_argument(
        "--method",
        default="rankbuffer",
        metavar="NAME",
        help=f"Reward method (default rankbuffer): one of {', '.join(METHODS)}.",
    )
    parser.add_argument(
        "--option",
        type=option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Option of the method, such as k0=7. Repeat it for several; "
        "`rankbuffer methods NAME` lists them.",
    )


def method_of(args: argparse.Namespace) -> Method:
    """The method that the options ask for."""
    given = dict(args.option)
    if len(given) < len(args.option):
        raise UsageError("--option: the same name twice")
    if "name" in given:
        raise UsageError("--option: the name of the method goes into --method")
    try:
        return method_from_dict({**given, "name": args.method})
    except ConfigError as error:
        raise UsageError(str(error)) from None
