"""The methods of a comparison: by name or from a file of options, checked before the run."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...config import ScorerConfig
from ...errors import ConfigError, InputError, RankBufferWarning
from ...judges import SimulatedJudge
from ...methods import METHODS, Method, method_from_dict
from ...scorer import Scorer, check
from ..common.options import UsageError
from .plan import Plan


def named_methods(labels: str | None, path: str | None) -> dict[str, Method]:
    """The methods to compare, by label, in the order they were named."""
    options = _read_options(Path(path)) if path is not None else {}
    if labels is None and not options:
        raise UsageError(f"--methods: name some of {', '.join(METHODS)}")
    names = list(options) if labels is None else [name.strip() for name in labels.split(",")]
    methods = {}
    for label in names:
        if not label or label in methods:
            raise UsageError(f"--methods: {label!r} is {'named twice' if label else 'no name'}")
        given = dict(options.get(label, {}))
        name = given.pop("method", label)
        try:
            methods[label] = method_from_dict({"name": name, **given})
        except ConfigError as error:
            where = f"{path}: {label}" if label in options else f"--methods: {label}"
            raise UsageError(f"{where}: {error}") from None
    return methods


def _read_options(path: Path) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{path}:{error.lineno}: not JSON at column {error.colno}: {error.msg}"
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8") from None
    if not isinstance(found, dict) or not found:
        raise UsageError(f'{path}: must hold {{label: {{"method"?, option: value, ...}}}}')
    for label, given in found.items():
        if not isinstance(given, dict):
            raise UsageError(f"{path}: {label}: must be an object of options")
        if "name" in given:
            raise UsageError(
                f'{path}: {label}: unknown option name; the registry name goes into "method"'
            )
    return found


def check_method(label: str, method: Method, plan: Plan) -> None:
    """Lets the library check the options and the data before any call is paid for.

    Also shows what the library warns of.
    """
    judge = plan.judge
    if isinstance(judge, SimulatedJudge):  # its qualities may be large, and the run checks them
        judge = replace(judge, qualities={"": 0.0})
    config = ScorerConfig(method=method, judge=judge, seed=plan.seed)
    try:
        check(config, [{"query_id": q.query_id, **plan.description(q)} for q in plan.queries])
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always", RankBufferWarning)
            Scorer(config).close()
    except (ConfigError, InputError) as error:
        raise UsageError(f"{label}: {error}") from None
    for warning in found:
        warnings.warn(f"{label}: {warning.message}", RankBufferWarning, stacklevel=2)
