"""What of a failure may stand in a log."""

from __future__ import annotations

import re

_OURS = re.compile(
    r"cannot reach \S+ .{0,200}"
    r"|the endpoint refused the API key at \S+"
    r"|nothing serves \S+: is judge\.base_url right"
    r"|\S+ does not answer like an OpenAI-compatible endpoint"
    r"|(\S+: )?error, status code: \d+, status: [\w ]{0,40}"
    r"|no quota left|unusable answer|context deadline exceeded|token limit"
)


def cause(error: str) -> str:
    """The part in our own words: the rest may quote a judge's answer or a prompt."""
    found = _OURS.search(error)
    return found[0] if found else "the cause is logged at debug level"
