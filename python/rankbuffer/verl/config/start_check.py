"""What only a look beyond the configuration can tell: the judge, the library's options, side files.

In a process of its own. The trainer's forks later, for its data loaders, and must
not have loaded the library by then.
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

_ENDS = {
    "cannot be reached": "start the judge first, or set +{0}.judge.base_url=http://HOST:PORT/v1",
    "refused the API key": "set +{0}.judge.api_key_env=NAME_OF_A_VARIABLE",
    "does not serve the model": "set +{0}.judge.model=NAME",
}
_OTHER_END = "set +{0}.judge.base_url=http://HOST:PORT/v1 and +{0}.judge.model=NAME"


def start_problems(settings: Settings, timeout: float = 30.0) -> list[str]:
    """Problems of the scorer's options, of the side files' rows, and of the judge."""
    return _ask(settings.scorer, settings.side_file or (), timeout)


def judge_problems(judge: Judge | SimulatedJudge, timeout: float = 30.0) -> list[str]:
    """Whether each endpoint can be reached, takes the key and serves the model."""
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
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return [f"{PREFIX}: {_FAILED}: {_line(said)}"]
    # The last line: a machine's start-up files may print too.
    problems: list[str] = json.loads(done.stdout.splitlines()[-1])
    return problems


def _problems(config: ScorerConfig, side_files: str | Sequence[str], timeout: float) -> list[str]:
    problems = []
    try:
        SideFile(side_files)
    except RankBufferError as error:
        problems.append(f"{PREFIX}.side_file: {_line(str(error))}")
    try:
        with Scorer(config) as scorer:
            scorer.check(timeout)
    except JudgeError as error:
        problems += _of_the_judge(str(error).removeprefix("engine: check: judge failed: judge: "))
    except RankBufferError as error:
        problems.append(f"{PREFIX}: {_line(str(error).removeprefix('engine: invalid input: '))}")
    return problems


def _of_the_judge(said: str) -> list[str]:
    if _only_the_probe(said):
        return []
    end = next((end for words, end in _ENDS.items() if words in said), _OTHER_END)
    return [f"{PREFIX}.judge: {_line(said)}: {end.format(PREFIX)}"]


def _only_the_probe(said: str) -> bool:
    """Whether an endpoint that is there refused what the check asks for: an answer of one token.

    Asked only where the model is not listed, while real calls have other limits.
    """
    busy = "status code: 429" in said and "no quota left" not in said
    return busy or (
        "status code: 400" in said and ("max_tokens" in said or "max_completion_" in said)
    )


def _line(said: str) -> str:
    """An endpoint's words may hold anything."""
    return "".join(c if c.isprintable() else " " for c in said)[:_LONGEST]


if __name__ == "__main__":
    print("\n" + json.dumps(_problems(*pickle.load(sys.stdin.buffer))))
