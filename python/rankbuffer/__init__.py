"""RankBuffer: rewards for groups of responses, from an LLM judge that compares.

::

    import rankbuffer as rb

    scorer = rb.Scorer(
        method=rb.RankBuffer(k0=4),
        judge=rb.Judge(base_url="http://localhost:8000/v1", model="my-judge"),
    )
    with scorer:
        scorer.create_buffer("q1", query="...", ranked=["best", "...", "worst"])
        result = scorer.score_group("q1", responses=["...", "..."])
        result.rewards

Importing this package loads nothing native; the first Scorer does.
"""

from ._version import __version__ as __version__
from .config import ScorerConfig as ScorerConfig
from .errors import BusyError as BusyError
from .errors import CancelledError as CancelledError
from .errors import CheckpointError as CheckpointError
from .errors import ClosedError as ClosedError
from .errors import ConfigError as ConfigError
from .errors import ConflictError as ConflictError
from .errors import FileError as FileError
from .errors import ForkedError as ForkedError
from .errors import InputError as InputError
from .errors import InternalError as InternalError
from .errors import JudgeError as JudgeError
from .errors import LibraryError as LibraryError
from .errors import NotFoundError as NotFoundError
from .errors import RankBufferError as RankBufferError
from .errors import RankBufferWarning as RankBufferWarning
from .errors import StaleError as StaleError
from .judges import Judge as Judge
from .judges import JudgeServer as JudgeServer
from .judges import SimulatedJudge as SimulatedJudge
from .judges import judge_from_dict as judge_from_dict
from .loop import score_batch as score_batch
from .methods import AGR as AGR
from .methods import GDPO as GDPO
from .methods import METHODS as METHODS
from .methods import PRC as PRC
from .methods import SCR as SCR
from .methods import ArenaRL as ArenaRL
from .methods import ExplicitScore as ExplicitScore
from .methods import GenRM as GenRM
from .methods import ImplicitScore as ImplicitScore
from .methods import Listwise as Listwise
from .methods import Method as Method
from .methods import PairwiseRank as PairwiseRank
from .methods import PairwiseWinRate as PairwiseWinRate
from .methods import Pointwise as Pointwise
from .methods import RankBuffer as RankBuffer
from .methods import Tournament as Tournament
from .methods import method_from_dict as method_from_dict
from .open_group import AsyncGroup as AsyncGroup
from .open_group import Group as Group
from .open_group import OpenGroup as OpenGroup
from .prompts import prompt_template as prompt_template
from .scorer import Scorer as Scorer
from .scorer import inspect as inspect
from .types import Anchor as Anchor
from .types import Buffer as Buffer
from .types import GroupResult as GroupResult
from .types import GroupStatus as GroupStatus
from .types import Query as Query
from .types import Rubric as Rubric
from .types import Status as Status

# What is the API and what is merely a module that was imported.
__all__ = [
    "AGR",
    "Anchor",
    "ArenaRL",
    "AsyncGroup",
    "Buffer",
    "BusyError",
    "CancelledError",
    "CheckpointError",
    "ClosedError",
    "ConfigError",
    "ConflictError",
    "ExplicitScore",
    "FileError",
    "ForkedError",
    "GDPO",
    "GenRM",
    "Group",
    "GroupResult",
    "GroupStatus",
    "ImplicitScore",
    "InputError",
    "inspect",
    "InternalError",
    "Judge",
    "judge_from_dict",
    "JudgeError",
    "JudgeServer",
    "LibraryError",
    "Listwise",
    "Method",
    "method_from_dict",
    "METHODS",
    "NotFoundError",
    "OpenGroup",
    "PairwiseRank",
    "PairwiseWinRate",
    "Pointwise",
    "PRC",
    "prompt_template",
    "Query",
    "RankBuffer",
    "RankBufferError",
    "RankBufferWarning",
    "Rubric",
    "score_batch",
    "Scorer",
    "ScorerConfig",
    "SCR",
    "SimulatedJudge",
    "StaleError",
    "Status",
    "Tournament",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
