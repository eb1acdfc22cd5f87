"""The ``rankbuffer`` command: parses, runs one command, turns errors into exit codes."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence

from .._version import __version__
from ..errors import CancelledError, InternalError, JudgeError, RankBufferError
from . import compare, demo, inspect, judge_sim, methods, prepare, rubrics, score, verl_config
from .common.warnings import shown_once

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

_COMMANDS = (
    demo, score, compare, methods, rubrics, inspect, judge_sim, prepare, verl_config,
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit code (see ``rankbuffer --help``)."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # a test's stand-in
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        args = _parser().parse_args(argv)
    except SystemExit as end:  # argparse has said what is wrong, or shown the help
        return end.code if isinstance(end.code, int) else USAGE
    try:
        with shown_once(args.command):
            code: int = args.run(args)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as stop:
        _say(args.command, str(stop) or "interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has left; nothing more can be said to them.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (JudgeError, CancelledError, InternalError) as error:
        _say(args.command, str(error))
        return FAILED
    except (RankBufferError, OSError) as error:
        _say(args.command, str(error))
        return USAGE


def _say(command: str, message: str) -> None:
    print(f"rankbuffer {command}: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rankbuffer",
        description="Rewards for groups of responses, from an LLM judge that compares them.",
        epilog="Exit codes: 0 done, 1 some groups failed or the judge is gone, 2 wrong options or "
        "input, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"rankbuffer {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return parser
