"""Code that needs an interpreter of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

PRELUDE = """
import asyncio, os, pickle, signal, sys, threading, time
import rankbuffer as rb

qualities = {f"answer {i}": float(i) for i in range(8)}
texts = list(qualities)

def scorer(latency_ms=0.0):
    return rb.Scorer(judge=rb.SimulatedJudge(qualities=qualities, latency_ms=latency_ms))

def score(s, query_id="q"):
    return s.score_group(query_id, texts, query="What is good?")

def waiting(s):
    while s.stats()["in_flight"] == 0:
        time.sleep(0.001)
"""


def python(code: str) -> subprocess.Popen[str]:
    """A fresh interpreter that runs the prelude and code; its output is readable by line."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONFAULTHANDLER": "1"},
    )


def run(code: str) -> str:
    """What the code prints; it must end well."""
    process = python(code)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, f"exit {process.returncode}\n{out}\n{err}"
    return out
