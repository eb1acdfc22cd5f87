"""What ``import verl`` loads through the entry point group ``verl.plugins``.

verl logs what goes wrong here at DEBUG only: keep it short.
"""

from verl.experimental.reward_loop.reward_manager import register

from .manager import RewardManager

register("rankbuffer")(RewardManager)
