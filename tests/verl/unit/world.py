"""A small world whose truth is known: texts "t0".."t99" of quality 0..99."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rankbuffer as rb
from rankbuffer.config import ScorerConfig
from rankbuffer.rows import QueryRow, Response
from rankbuffer.verl.config.run_config import RunConfig
from rankbuffer.verl.config.settings import CheckpointSettings, RendezvousSettings, Settings
from rankbuffer.verl.rollouts.rows import Rollout

QUALITIES = {f"t{i}": float(i) for i in range(100)}
RANKED = ["t80", "t60", "t40", "t20"]


def judge(**options: Any) -> rb.SimulatedJudge:
    return rb.SimulatedJudge(qualities=QUALITIES, **options)


def world_scorer(**options: Any) -> rb.Scorer:
    return rb.Scorer(judge=judge(**options), method=rb.RankBuffer(k0=4))


def rollout(
    text: str,
    *,
    uid: str = "u",
    query: str = "q",
    slot: str | None = None,
    step: int | None = 1,
    validate: bool = False,
    has_uid: bool = True,
    eligible: bool = True,
    failure: str | None = None,
) -> Rollout:
    data = QueryRow(
        query_id=query, query=f"about {query}", ranked=[Response(text=t) for t in RANKED]
    )
    return Rollout(
        uid=uid,
        has_uid=has_uid,
        slot=slot,
        step=step,
        validate=validate,
        eligible=eligible,
        query=data,
        text=text,
        failure=failure,
    )


def run_config(
    group_size: int = 4,
    *,
    workers: int = 1,
    asynchronous: bool = False,
    steps: bool = True,
    on_missing: str = "fail",
    judge_options: dict[str, Any] | None = None,
    **rendezvous: Any,
) -> RunConfig:
    settings = Settings(
        scorer=ScorerConfig(judge=judge(**(judge_options or {})), method=rb.RankBuffer(k0=4)),
        rendezvous=RendezvousSettings(**rendezvous),
        checkpoint=CheckpointSettings(on_missing=on_missing),  # type: ignore[arg-type]
    )
    return RunConfig(
        settings=settings,
        group_size=group_size,
        workers=workers,
        asynchronous=asynchronous,
        steps_in_rows=steps,
    )


def texts(step: int, query: str, n: int = 4) -> list[str]:
    """What the policy writes for a query in a step: better with time, and never the same."""
    seed = sum(query.encode()) + 13 * step
    return [f"t{(seed * 7 + 19 * i + step) % 100}" for i in range(n)]


def save_model(root: Path, step: int, step_file: bool = True) -> Path:
    """What verl's trainers leave on disk when they save a step."""
    directory = root / f"global_step_{step}"
    (directory / "actor").mkdir(parents=True, exist_ok=True)
    (directory / "data.pt").write_bytes(b"dataloader")
    if step_file:
        (root / "latest_checkpointed_iteration.txt").write_text(str(step))
    return directory
