"""The processes of a distributed run: rows go to the main process, rewards come back."""

from __future__ import annotations

import pickle
from typing import Any, TypeVar

from ..errors import RankBufferError

T = TypeVar("T")


class Processes:
    """Exchanges among all processes. Without torch.distributed there is only this one.

    An error in one process is raised in all of them: otherwise the others would
    wait for ever. The exchanges use a gloo group of their own, because they must
    not mix with the trainer's collectives, which run in other threads.
    """

    def __init__(self) -> None:
        self._group: Any = None
        self._sizes: list[int] = []

    def join(self) -> Any:
        """torch.distributed if several processes run together. Makes the gloo group, once."""
        dist = _distributed()
        if dist is not None and self._group is None:
            self._group = dist.new_group(backend="gloo")
        return dist

    def gather(self, rows: list[dict[str, Any]] | Exception) -> list[dict[str, Any]] | None:
        """In the main process the rows of all processes, in the order of their ranks; else None."""
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
        """In each process its part, ``count`` rewards, of what the main process found."""
        found = self.agree(rewards)
        assert found is not None
        dist = self.join()
        start = sum(self._sizes[: dist.get_rank()]) if dist is not None else 0
        return list(found[start : start + count])

    def agree(self, found: T | Exception) -> T:
        """In each process what the main process passed. An error is raised in each."""
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
    """The value, or an error that other processes can unpickle."""
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
