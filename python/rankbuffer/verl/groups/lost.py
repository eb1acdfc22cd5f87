"""The groups that died with an owner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..rollouts.rows import Key

_REMEMBERED = 16_384
"""More than are in flight at once; a run that meets many deaths forgets the oldest."""


class Lost:
    """Keys of lost groups, the newest of them: what still comes of these ends at once."""

    def __init__(self) -> None:
        self._keys: dict[Key, None] = {}

    def add(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._keys.pop(key, None)
            self._keys[key] = None
        while len(self._keys) > _REMEMBERED:
            del self._keys[next(iter(self._keys))]

    def __contains__(self, key: Key) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)
