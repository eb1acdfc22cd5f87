"""What of a failure may stand in a log: never the words of a judge, a policy or an endpoint."""

from __future__ import annotations

import pytest

from rankbuffer._cause import cause

SECRET = "the judge said so"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            "coarse: judge: cannot reach http://h:9/v1 (judge.base_url): connection refused",
            "cannot reach http://h:9/v1 (judge.base_url): connection refused",
        ),
        (
            f"judge: http://h/v1: error, status code: 400, status: 400 Bad Request, {SECRET}",
            "http://h/v1: error, status code: 400, status: 400 Bad Request",
        ),
        (f"judge: fine: unusable answer: {SECRET}", "unusable answer"),
        (
            f'judge: http://h/v1 does not answer like an OpenAI-compatible endpoint ("{SECRET}")',
            "http://h/v1 does not answer like an OpenAI-compatible endpoint",
        ),
        (SECRET, "the cause is logged at debug level"),
        ("", "the cause is logged at debug level"),
    ],
)
def test_cause(error: str, told: str) -> None:
    assert cause(error) == told
