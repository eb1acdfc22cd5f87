"""The options that say which reward method is used, and the method that they make."""

from __future__ import annotations

import argparse

from ...methods import METHODS, Method, method_from_dict
from .options import REPEATED, UsageError, add_options, option

_OPTIONS = {
    "--method NAME": f"Reward method (default rankbuffer): one of {', '.join(METHODS)}.",
    "--option NAME=VALUE": "Option of the method, such as k0=7. Repeat it for several; "
    "`rankbuffer methods NAME` lists them.",
}


def add_method(parser: argparse.ArgumentParser) -> None:
    """``--method`` and ``--option``, for commands that use one method."""
    method, several = {"default": "rankbuffer"}, {"type": option, **REPEATED}
    add_options(parser, _OPTIONS, method=method, option=several)


def method_of(args: argparse.Namespace) -> Method:
    """The method that the options ask for."""
    given = dict(args.option)
    if len(given) < len(args.option):
        raise UsageError("--option: the same name twice")
    if "name" in given:
        raise UsageError("--option: the name of the method goes into --method")
    return method_from_dict({**given, "name": args.method})
