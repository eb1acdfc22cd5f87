"""RankBuffer: rewards for groups of responses, from an LLM judge that compares.

>>> import rankbuffer as rb
>>> judge = rb.SimulatedJudge(qualities={"4": 3, "four?": 2, "5": 0, "2 + 2 = 4.": 4})
>>> with rb.Scorer(method=rb.RankBuffer(k0=2), judge=judge) as scorer:
...     scorer.create_buffer("sum", query="2 + 2?", ranked=["4", "5"])  # best first
...     scorer.score_group("sum", ["four?", "2 + 2 = 4."]).rewards
[-1.0, 1.0]

``rb.Judge(base_url=..., model=...)`` is a real judge. Importing this package does not
load the native library; the first Scorer does.
"""

from ._version import __version__ as __version__
from .config import ScorerConfig
from .errors import (
    BusyError,
    CancelledError,
    CheckpointError,
    ClosedError,
    ConfigError,
    ConflictError,
    FileError,
    ForkedError,
    InputError,
    InternalError,
    JudgeError,
    LibraryError,
    NotFoundError,
    RankBufferError,
    RankBufferWarning,
    StaleError,
)
from .judges import Judge, JudgeServer, SimulatedJudge, judge_from_dict, shown_query
from .loop import score_batch
from .methods import (
    AGR,
    GDPO,
    METHODS,
    PRC,
    SCR,
    Arena,
    Explicit,
    GenRM,
    Implicit,
    Listwise,
    Method,
    Pairwise,
    Pointwise,
    RankBuffer,
    Tournament,
    WinRate,
    method_from_dict,
)
from .open_group import AsyncGroup, Group, OpenGroup
from .prompts import prompt_template
from .scorer import Scorer, check, inspect
from .types import Anchor, Buffer, GroupResult, GroupStatus, Query, Rubric, Status

# The public names. Other names in this package are modules.
__all__ = [
    "AGR", "Anchor", "Arena", "AsyncGroup", "Buffer", "BusyError", "CancelledError", "check",
    "CheckpointError", "ClosedError", "ConfigError", "ConflictError", "Explicit", "FileError",
    "ForkedError", "GDPO", "GenRM", "Group", "GroupResult", "GroupStatus", "Implicit",
    "InputError", "inspect", "InternalError", "Judge", "judge_from_dict", "shown_query",
    "JudgeError", "JudgeServer", "LibraryError", "Listwise", "Method", "method_from_dict",
    "METHODS", "NotFoundError", "OpenGroup", "Pairwise", "Pointwise", "PRC", "prompt_template",
    "Query", "RankBuffer", "RankBufferError", "RankBufferWarning", "Rubric", "score_batch",
    "Scorer", "ScorerConfig", "SCR", "SimulatedJudge", "StaleError", "Status", "Tournament",
    "WinRate",
]  # fmt: skip


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
