"""``rankbuffer verl-config``: prints the overrides for verl, or checks a config."""

from __future__ import annotations

import argparse

from ..verl.config.overrides import check, overrides
from .common.method import add_method, method_of
from .common.options import Commands, UsageError, add_command, positive

_EPILOG = """\
Examples:
  rankbuffer verl-config --base-url http://judge:8000/v1 --model my-judge --batch 128 --n 8
  python -m verl.trainer.main_ppo ... $(rankbuffer verl-config ... | tr '\\n' ' ')
  rankbuffer verl-config --check actor_rollout_ref.rollout.n=8 +reward.rankbuffer...
  rankbuffer verl-config --check --config outputs/.hydra/config.yaml
"""


def add(commands: Commands) -> None:
    parser = add_command(
        commands, "verl-config", run,
        summary="print the overrides for verl, or check a config",
        description="Prints the overrides that give a verl run these rewards, one a line.\n"
        "With --check it checks a command line or a config instead.",
        epilog=_EPILOG,
    )  # fmt: skip
    parser.add_argument(
        "--base-url",
        default="http://localhost:8000/v1",
        metavar="URL",
        help="OpenAI-compatible endpoint of the judge, ending in /v1.",
    )
    parser.add_argument("--model", default="my-judge", help="Name of the judge's model.")
    parser.add_argument(
        "--api-key-env", metavar="VARIABLE", help="Environment variable that holds the judge's key."
    )
    add_method(parser)
    parser.add_argument(
        "--batch", type=positive, default=64, help="data.train_batch_size (default 64)."
    )
    parser.add_argument(
        "--n", type=positive, default=8, help="Rollouts of each prompt (default 8)."
    )
    parser.add_argument(
        "--side-file",
        action="append",
        default=[],
        metavar="FILE",
        help="Side file that `rankbuffer prepare` wrote. Repeat it for several.",
    )
    parser.add_argument("--v0", action="store_true", help="For verl's older trainer (V0).")
    parser.add_argument(
        "--importlib", action="store_true", help="For a verl whose plugins are switched off."
    )
    parser.add_argument("--check", action="store_true", help="Check the OVERRIDEs.")
    parser.add_argument("--config", metavar="FILE", help="Check this whole config (YAML).")
    parser.add_argument(
        "--no-probe",
        action="store_true",
        help="With --check: ask no judge and read no side files.",
    )
    parser.add_argument(
        "overrides", nargs="*", metavar="OVERRIDE", help="With --check: overrides of the run."
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
