"""The options that say which judge to ask, and the judge that they make."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from ..._options import known_names
from ..._options import options as options_of
from ...errors import JudgeError
from ...judges import Judge, SimulatedJudge, judge_from_dict
from ...scorer import Scorer
from .options import REPEATED, UsageError, add_options, option, options, positive

_SIMULATION = [name for name in options_of(SimulatedJudge) if name != "qualities"]
_OWN_OPTION = {"base_url", "model", "api_key", "api_key_env", "max_concurrency"}
_OTHERS = [name for name in options_of(Judge) if name not in _OWN_OPTION]


_SIM = {
    "--sim NAME=VALUE,...": "Use the simulated judge, for example with sigma=2,drift=2. Without "
    f"options it makes no errors. Options: {', '.join(_SIMULATION)}.",
}
_OPTIONS = {
    "--base-url URL": "OpenAI-compatible endpoint, ending in /v1. Repeat it for several with one "
    "model.",
    "--model NAME": "Name of the model at the endpoint.",
    "--api-key-env VARIABLE": "Environment variable that holds the API key (default: no key is "
    "sent).",
    "--concurrency N": "Judge requests in flight at most (default 256).",
    "--judge-option NAME=VALUE": f"Option of rankbuffer.Judge: {', '.join(_OTHERS)}. For example "
    """timeout=120, or extra_body='{"chat_template_kwargs": {"enable_thinking": false}}'.""",
    "--seed N": "Seed of the order in which the judge sees responses (default 0).",
}


def add_simulation(parser: argparse._ActionsContainer) -> None:
    """``--sim``, for commands that can use the simulated judge."""
    add_options(parser, _SIM, sim={"type": options, "nargs": "?", "const": {}})


def add_judge(parser: argparse.ArgumentParser) -> None:
    """The options that say which judge to ask."""
    group = parser.add_argument_group("judge", "Give --sim, or --base-url and --model.")
    add_simulation(group)
    add_options(
        group,
        _OPTIONS,
        base_url={"action": "append"},
        concurrency={"type": positive},
        judge_option={"type": option, **REPEATED},
        seed={"type": int, "default": 0},
    )


def judge_of(
    args: argparse.Namespace, qualities: Callable[[], Mapping[str, Any]]
) -> Judge | SimulatedJudge:
    """The judge that the options ask for; ``qualities`` is called for the simulated one only."""
    if args.sim is not None:
        if args.base_url or args.model:
            raise UsageError("--sim and --base-url/--model are two judges; give one of them")
        return simulated(args.sim, qualities(), args.concurrency)
    if not args.base_url or not args.model:
        raise UsageError(
            "which judge? Give --base-url URL and --model NAME, or --sim for the simulated one"
        )
    given = {
        "base_url": args.base_url[0] if len(args.base_url) == 1 else args.base_url,
        "model": args.model,
        "api_key_env": args.api_key_env,
        "max_concurrency": args.concurrency,
    }
    named = {name: value for name, value in given.items() if value is not None}
    return judge_from_dict({**dict(args.judge_option), **named})


def simulated(
    options: Mapping[str, Any], qualities: Mapping[str, Any], concurrency: int | None = None
) -> SimulatedJudge:
    """A simulated judge from the options of ``--sim``."""
    for name in options:
        if name not in _SIMULATION:
            raise UsageError(
                f"--sim: {name}: unknown option, known are {known_names(name, _SIMULATION)}"
            )
    given = {**options, "qualities": qualities}
    return SimulatedJudge(
        **given if concurrency is None else given | {"max_concurrency": concurrency}
    )


def require_judge(scorer: Scorer) -> None:
    """Refuses an endpoint that cannot be reached, refuses the key or lacks the model.

    Otherwise every group of the run would be written down as failed.
    """
    try:
        scorer.check()
    except JudgeError as error:
        raise UsageError(str(error)) from None


def identity(judge: Judge | SimulatedJudge) -> dict[str, Any]:
    """The options of a judge that its answers depend on; holds no key."""
    kind = "simulated" if isinstance(judge, SimulatedJudge) else "openai"
    stated = options_of(type(judge)).values()
    values = {o.name: getattr(judge, o.name) for o in stated if o.affects_verdicts}
    return {"type": kind, **{name: value for name, value in values.items() if value is not None}}
