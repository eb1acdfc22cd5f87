"""``rankbuffer judge-sim``: the simulated judge as an OpenAI-compatible server."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from types import FrameType

from ..judges import JudgeServer
from ..replay import find_replay, qualities, read_replay
from .common.judge import add_simulation, simulated
from .common.options import REQUIRED, Commands, add_command, add_options

_OPTIONS = {
    "--data REPLAY": "Replay file with the quality of each response, or `sample`.",
    "--port N": "Port to listen on (default: a free one).",
    "--host HOST": "Address to listen on (default 127.0.0.1); who reaches it can use the judge.",
}


def add(commands: Commands) -> None:
    parser = add_command(
        commands, "judge-sim", run,
        "serve the simulated judge over HTTP",
        "Serves the simulated judge as an OpenAI-compatible endpoint and prints its base URL.\n"
        "It runs until Ctrl-C or SIGTERM.",
    )  # fmt: skip
    port = {"type": int, "default": 0}
    add_options(parser, _OPTIONS, data=REQUIRED, port=port, host={"default": "127.0.0.1"})
    add_simulation(parser)


def run(args: argparse.Namespace) -> int:
    judge = simulated(args.sim or {}, qualities(read_replay(find_replay(args.data))))
    wake, waker = os.pipe()

    def stop(_number: int, _frame: FrameType | None) -> None:
        os.write(waker, b".")

    # Before the server starts, so that no signal is missed; a pipe, so that one
    # that comes just before the wait ends it too.
    previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with JudgeServer(judge, host=args.host, port=args.port) as server:
            print(server.url, flush=True)
            if sys.stderr.isatty():
                print("Ctrl-C stops the server", file=sys.stderr)
            os.read(wake, 1)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        os.close(wake)
        os.close(waker)
    return 0
