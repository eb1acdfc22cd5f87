"""The processes of a distributed run: rows to the main one, rewards back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Ranks:
    """One exchange among all processes; without torch.distributed there is only this one."""

    def __init__(self) -> None:
        self._sizes: list[int] = []

    def gather(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
        """All processes' rows in the order of their ranks, in the main process; else None."""
        dist = _distributed()
        if dist is None:
            self._sizes = [len(rows)]
            return rows
        parts: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(parts, rows)
        self._sizes = [len(part) for part in parts]
        return [row for part in parts for row in part] if dist.get_rank() == 0 else None

    def share(self, rewards: Sequence[float] | Exception | None, count: int) -> list[float]:
        """What the main process found, in all of them: their part, or its error raised."""
        dist = _distributed()
        box: list[Any] = [rewards]
        start = 0
        if dist is not None:
            dist.broadcast_object_list(box, src=0)
            start = sum(self._sizes[: dist.get_rank()])
        if isinstance(box[0], Exception):
            raise box[0]
        return list(box[0][start : start + count])


def _distributed() -> Any:
    """torch.distributed if several processes run together."""
    try:
        import torch.distributed as dist
    except ImportError:
        return None
    together = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
    return dist if together else None
