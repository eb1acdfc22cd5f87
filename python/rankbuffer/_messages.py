"""verl's prompts."""

from typing import Any

from .errors import InputError
from .rows import Prompt as Prompt
from .rows import parse_prompt


def prompt_of(raw: Any, multimodal: str) -> Prompt:
    """The prompt of one of verl's rows."""
    if raw is None:
        raise InputError(
            "missing; set data.return_raw_chat=True", "raw_prompt", code="missing_field"
        )
    return parse_prompt(raw, "raw_prompt", multimodal)
