"""RankBuffer as a reward function of TRL's GRPO trainer. README.md beside this file shows a run."""

from .function import AsyncRewardFunction as AsyncRewardFunction
from .function import RewardFunction as RewardFunction
