"""The processes of a distributed run: rows to the main one, rewards back."""

from __future__ import annotations

import pickle
from typing import Any, TypeVar

from ..errors import RankBufferError

T = TypeVar("T")


class Ranks:
    """Exchanges among all processes; without torch.distributed there is only this one.

    An error of one process is raised in all of them, since those it does not come
    to would wait for ever. The exchanges have a gloo group of their own: they must
    not mix with the trainer's collectives, which run in other threads.
    """

    def __init__(self) -> None:
        self._group: Any = None
        self._sizes: list[int] = []

    def join(self) -> Any:
        """torch.distributed if several processes run together; makes the group, in all alike."""
        dist = _distributed()
        if dist is not None and self._group is None:
            self._group = dist.new_group(backend="gloo")
        return dist

    def gather(self, rows: list[dict[str, Any]] | Exception) -> list[dict[str, Any]] | None:
        """All processes' rows in the order of their ranks, in the main process; else None."""
        dist = self.join()
        parts: list[Any] = [rows]
        if dist is not None:
            parts = [None] * dist.get_world_size()
            dist.all_gather_object(parts, _portable(rows), group=self._group)
        for part in parts:
            if isinstance(part, Exception):
                raise part
        self._sizes = [len(part) for part in parts]
        main = dist is None or dist.get_rank() == 0
        return [row for part in parts for row in part] if main else None

    def share(self, rewards: list[float] | Exception | None, count: int) -> list[float]:
        """What the main process found, in all of them: their part."""
        found = self.agree(rewards)
        assert found is not None
        dist = self.join()
        start = sum(self._sizes[: dist.get_rank()]) if dist is not None else 0
        return list(found[start : start + count])

    def agree(self, found: T | Exception) -> T:
        """What the main process passed, in all of them; raised if it is an error."""
        box: list[Any] = [found]
        dist = self.join()
        if dist is not None:
            box = [_portable(found)]
            dist.broadcast_object_list(box, src=0, group=self._group)
        if isinstance(box[0], Exception):
            raise box[0]
        agreed: T = box[0]
        return agreed


def _portable(value: Any) -> Any:
    """An error that other processes can read; other values as they are."""
    if not isinstance(value, Exception):
        return value
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:
        return RankBufferError(f"{type(value).__name__}: {value}")
    return value


def _distributed() -> Any:
    """torch.distributed if several processes run together."""
    try:
        import torch.distributed as dist
    except ImportError:
        return None
    together = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
    return dist if together else None
