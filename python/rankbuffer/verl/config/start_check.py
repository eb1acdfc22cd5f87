"""The part of the start check that the configuration alone cannot decide.

It asks the judge, and checks the options of the scorer and the rows of side files. It
runs in a process of its own, because the trainer forks later for its data loaders, and
a process that has loaded the library must not fork.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence

from ...config import ScorerConfig
from ...errors import JudgeError, RankBufferError
from ...judges import Judge, SimulatedJudge
from ...scorer import Scorer
from ..rollouts.queries import SideFile
from .settings import PREFIX, Settings

_START_S = 120.0
"""For the process to start and to read the side files, beside the judge's time."""

_LONGEST = 600
_FAILED = "the check before the start failed"

_BASE_URL = "+{0}.judge.base_url=http://HOST:PORT/v1"
_OVERRIDES = {
    "judge_unreachable": f"start the judge first, or set {_BASE_URL}",
    "judge_unauthorized": "set +{0}.judge.api_key_env=NAME_OF_A_VARIABLE",
    "judge_model_not_found": "set +{0}.judge.model=NAME",
}
_OTHERWISE = f"set {_BASE_URL} and +{{0}}.judge.model=NAME"


def start_problems(settings: Settings, timeout: float = 30.0) -> list[str]:
    """Problems of the scorer's options, of the side files' rows, and of the judge."""
    return _ask(settings.scorer, settings.side_file or (), timeout)


def judge_problems(judge: Judge | SimulatedJudge, timeout: float = 30.0) -> list[str]:
    """Problems of an endpoint that cannot be reached, refuses the key or lacks the model."""
    if isinstance(judge, SimulatedJudge):
        return []
    return _ask(ScorerConfig(judge=judge), (), timeout)


def _ask(config: ScorerConfig, side_files: str | Sequence[str], timeout: float) -> list[str]:
    limit = timeout + _START_S
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__],
            input=pickle.dumps((config, side_files, timeout)),
            capture_output=True,
            timeout=limit,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [f"{PREFIX}: {_FAILED}: it took more than {limit:.0f} s"]
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return [f"{PREFIX}: {_FAILED}: {_printable(last)}"]
    # The last line, because start-up files of the machine may print too.
    problems: list[str] = json.loads(done.stdout.splitlines()[-1])
    return problems


def _problems(config: ScorerConfig, side_files: str | Sequence[str], timeout: float) -> list[str]:
    problems = []
    try:
        SideFile(side_files)
    except RankBufferError as error:
        problems.append(f"{PREFIX}.side_file: {_printable(str(error))}")
    try:
        with Scorer(config) as scorer:
            scorer.check(timeout)
    except JudgeError as error:
        if error.code != "judge_rate_limited":  # busy, so it is there
            override = _OVERRIDES.get(error.code, _OTHERWISE).format(PREFIX)
            problems.append(f"{PREFIX}.judge: {_printable(str(error))}: {override}")
    except RankBufferError as error:
        problems.append(f"{PREFIX}.{_printable(str(error))}")
    return problems


def _printable(text: str) -> str:
    """A text that may quote an endpoint, without control characters and not too long."""
    return "".join(c if c.isprintable() else " " for c in text)[:_LONGEST]


if __name__ == "__main__":
    print("\n" + json.dumps(_problems(*pickle.load(sys.stdin.buffer))))
