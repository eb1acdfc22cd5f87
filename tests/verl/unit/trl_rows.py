"""Completions as TRL has them for conversational data."""

from __future__ import annotations


def conversation(texts: list[str]) -> list[list[dict[str, str]]]:
    """The tool's turn is not what the policy answered."""
    tool = {"role": "tool", "content": "99"}
    return [[tool, {"role": "assistant", "content": text}] for text in texts]
