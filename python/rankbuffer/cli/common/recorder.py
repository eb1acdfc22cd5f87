"""Writes the rows of a run to its log, and stops the run when the judge is gone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from ...errors import JudgeError
from ...scorer import Scorer
from .failures import JudgeGone, Streak
from .row_log import RowLog


class Recorder:
    """Appends rows in the order of the run, but for failed groups at its end.

    Those are held back in a ``Streak`` until another group follows or the run ends.
    """

    def __init__(self, log: RowLog, kept: int, max_failures: int) -> None:
        self.written = self._saved = kept
        self._log = log
        self._streak: Streak[tuple[str, str]] = Streak(max_failures)
        self._source = ""

    @property
    def over(self) -> bool:
        """Whether so many groups failed in a row that the run is to stop."""
        return self._streak.over

    def take(self, row: Mapping[str, Any], source: str) -> None:
        """Adds the next row; ``source`` is the checksum of the input up to it."""
        line = json.dumps(row, ensure_ascii=False) + "\n"
        self._write(self._streak.take(row, (line, source)))

    def checkpoint(self, scorer: Scorer) -> None:
        """Makes the rows so far durable, with the buffers. No group may be in flight."""
        if self.written > self._saved:
            self._log.checkpoint(scorer, self.written, self._source)
            self._saved = self.written

    async def finish(self, scorer: Scorer, where: str) -> None:
        """Writes the failed groups at the end too, unless the judge seems to be gone.

        It is gone if too many groups failed in a row, or if fewer did and its endpoint
        does not answer. Then JudgeGone is raised, and the next run scores them again.
        """
        if len(self._streak) and (self.over or not await _answers(scorer)):
            raise JudgeGone(
                f"{where}: stopped, the last {len(self._streak):,} groups failed, the first of "
                f"them with: {self._streak.first_reason}\nThese groups are not kept. Once the "
                "judge is back, run the same command: it scores them and goes on. "
                "With --max-failures 0 they are kept as failed."
            )
        self._write(self._streak.release())
        self.checkpoint(scorer)

    def _write(self, rows: list[tuple[str, str]]) -> None:
        if rows:
            self._log.append(line for line, _ in rows)
            self.written += len(rows)
            self._source = rows[-1][1]


async def _answers(scorer: Scorer) -> bool:
    """Whether the judge's endpoint answers and accepts our requests."""
    try:
        await asyncio.to_thread(scorer.check)
    except JudgeError:
        return False
    return True
