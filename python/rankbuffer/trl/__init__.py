"""RankBuffer as a reward function of TRL's GRPO trainer.

::

    reward = RewardFunction(ScorerConfig(judge=Judge(...)), group_size=8)
    trainer = GRPOTrainer(..., reward_funcs=[reward], callbacks=[reward.checkpoints()])

Columns of the dataset that are read: ``query_id``, ``rubrics``, ``ranked`` (best
first), ``reference``, ``eligible``, ``split`` (anything but ``train`` is validation,
which never changes a buffer).
"""

from .function import AsyncRewardFunction as AsyncRewardFunction
from .function import RewardFunction as RewardFunction
