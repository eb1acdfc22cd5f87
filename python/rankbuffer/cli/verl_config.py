"""``rankbuffer verl-config``: prints the overrides for verl, or checks a config."""

from __future__ import annotations

import argparse

from ..verl.config.overrides import check, overrides
from .common.method import add_method, method_of
from .common.options import (
    REPEATED,
    Commands,
    UsageError,
    add_command,
    add_options,
    positive,
)

_EPILOG = """\
Examples:
  rankbuffer verl-config --base-url http://judge:8000/v1 --model my-judge --batch 128 --n 8
  python -m verl.trainer.main_ppo ... $(rankbuffer verl-config ... | tr '\\n' ' ')
  rankbuffer verl-config --check actor_rollout_ref.rollout.n=8 +reward.rankbuffer...
  rankbuffer verl-config --check --config outputs/.hydra/config.yaml
"""

_OPTIONS = {
    "--base-url URL": "OpenAI-compatible endpoint of the judge, ending in /v1.",
    "--model NAME": "Name of the judge's model.",
    "--api-key-env VARIABLE": "Environment variable that holds the judge's key.",
    "--batch N": "data.train_batch_size (default 64).",
    "--n N": "Rollouts of each prompt (default 8).",
    "--side-file FILE": "Side file that `rankbuffer prepare` wrote. Repeat it for several.",
    "--v0": "For verl's older trainer (V0).",
    "--importlib": "For a verl whose plugins are switched off.",
    "--check": "Check the OVERRIDES.",
    "--config FILE": "Check this whole config (YAML).",
    "--no-probe": "With --check: ask no judge, read no side files, check no option values.",
    "OVERRIDES": "With --check: overrides of the run.",
}


def add(commands: Commands) -> None:
    parser = add_command(
        commands, "verl-config", run,
        "print the overrides for verl, or check a config",
        "Prints the overrides that give a verl run these rewards, one a line.\n"
        "With --check it checks a command line or a config instead.",
        _EPILOG,
    )  # fmt: skip
    add_method(parser)
    add_options(
        parser,
        _OPTIONS,
        base_url={"default": "http://localhost:8000/v1"},
        model={"default": "my-judge"},
        batch={"type": positive, "default": 64},
        n={"type": positive, "default": 8},
        side_file=REPEATED,
        overrides={"nargs": "*"},
    )


def run(args: argparse.Namespace) -> int:
    if args.check or args.config:
        return _check(args)
    if args.overrides:
        raise UsageError("overrides are only checked: add --check")
    lines = overrides(
        base_url=args.base_url,
        model=args.model,
        method=method_of(args).name,
        options=dict(args.option),
        batch=args.batch,
        n=args.n,
        importlib=args.importlib,
        api_key_env=args.api_key_env,
        side_files=args.side_file,
        v0=args.v0,
    )
    print("\n".join(lines))
    return 0


def _check(args: argparse.Namespace) -> int:
    found = check(args.config, args.overrides, probe=not args.no_probe)
    method = found.settings.scorer.method
    mode = "asynchronous" if found.asynchronous else "synchronous"
    where = "one process" if found.workers == 1 else f"{found.settings.rendezvous.owners} actor(s)"
    print(
        f"good: {method.name}, groups of {found.group_size}, {found.workers} reward worker(s), "
        f"buffers in {where}, {mode} training"
    )
    return 0
