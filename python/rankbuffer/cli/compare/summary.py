"""The figures of one method over its rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ..common.stats import kendall_tau_b, mean, mean_error

_UNJUDGED = {"judge_failed", "timeout", "truncated", "cancelled"}
"""The statuses of responses whose reward says nothing of them."""


class Summary:
    """Adds up the rows of one method to the figures that ``summary.json`` holds."""

    def __init__(self) -> None:
        self._groups = self._failed = self._partial = self._flat = 0
        self._failed_known = 0  # failed groups with qualities
        self._calls: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._taus: defaultdict[str, list[float]] = defaultdict(list)
        self._comparisons, self._first_won = 0, 0.0
        self._epochs: set[int] = set()
        self._has_buffers = False
        self._anchors: defaultdict[int, list[float]] = defaultdict(list)
        self._sources: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._progress: defaultdict[int, list[float]] = defaultdict(list)

    def add(self, row: Mapping[str, Any], qualities: Sequence[float | None]) -> None:
        """Counts one row of ``groups.jsonl``, given the qualities of its responses."""
        failed = row["group_status"] == "failed"
        self._groups += 1
        self._failed += failed
        self._partial += row["group_status"] == "partial"
        self._flat += row["reward_std"] == 0
        self._calls.update(row["calls"])
        self._tokens.update(row["tokens"])
        if shown := row.get("first_shown"):
            self._comparisons += shown["comparisons"]
            self._first_won += shown["wins"]
        epoch = row["epoch"]
        self._epochs.add(epoch)
        self._has_buffers |= row["anchors"] > 0
        if failed:  # its rewards are no judgement, and its buffer was not used
            self._failed_known += any(q is not None for q in qualities)
            return
        rows = zip(row["rewards"], qualities, row["status"], strict=True)
        known = [(r, q) for r, q, status in rows if q is not None and status not in _UNJUDGED]
        if known:
            tau = kendall_tau_b([r for r, _ in known], [q for _, q in known])
            self._taus[row["query_id"]].append(tau)
        self._anchors[epoch].append(row["anchors"])
        self._sources[epoch].update(row.get("anchor_sources", ()))
        self._progress[epoch].extend(p for p in row["progress"] if p is not None)

    @property
    def failed(self) -> int:
        """How many groups got no rewards of their own."""
        return self._failed

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values.

        Figures by epoch are lists that begin with epoch 0. A figure that the method does
        not have is left out; a mean of nothing is None.

        Failed groups count for calls, tokens, ``zero_spread_share`` and ``failed``, and
        as 0 in ``kendall_tau``. They are left out of ``kendall_tau_judged``, its error,
        anchors and progress. In a partial group, the responses that were not judged got
        the mean reward and are left out of tau.

        ``position_bias`` is the share of its comparisons that the response shown first
        won, minus one half: 0 for a judge without bias, 0.5 for one that always prefers
        the first. It counts the comparisons between that response and another one. Who
        is shown first is drawn at random, so no true order is needed. For n comparisons
        it is exact to about 0.5 / sqrt(n). None for methods that show the judge one
        response at a time.
        """
        taus = [t for own in self._taus.values() for t in own]
        out: dict[str, Any] = {
            "groups": self._groups,
            "calls": sum(self._calls.values()),
            "calls_by_kind": dict(sorted(self._calls.items())),
            "prompt_tokens": self._tokens["prompt"],
            "completion_tokens": self._tokens["completion"],
            "cached_tokens": self._tokens["cached"],
            "kendall_tau": mean(taus + [0.0] * self._failed_known),
            "kendall_tau_judged": mean(taus),
            "kendall_tau_error": mean_error(self._taus),
            "position_bias": self._first_won / self._comparisons - 0.5
            if self._comparisons
            else None,
            "position_bias_comparisons": self._comparisons,
        }
        epochs = sorted(self._epochs)
        if self._has_buffers:
            out["mean_anchors_by_epoch"] = [mean(self._anchors[e]) for e in epochs]
            out["anchor_sources_by_epoch"] = [
                {
                    source: n / len(self._anchors[e])
                    for source, n in sorted(self._sources[e].items())
                }
                for e in epochs
            ]
        if any(self._progress.values()):
            out["progress_by_epoch"] = [mean(self._progress[e]) for e in epochs]
        out["zero_spread_share"] = self._flat / self._groups if self._groups else 0.0
        out["failed"] = self._failed
        out["partial"] = self._partial
        return out
