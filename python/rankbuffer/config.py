"""Everything a scorer is built from, as one value that pickles."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

from ._options import documented, made_from
from .errors import ConfigError
from .judges import Judge, SimulatedJudge, judge_from_dict
from .methods import Method, RankBuffer, method_from_dict


@documented
@dataclass(frozen=True, kw_only=True)
class ScorerConfig:
    """What a scorer is made from. It pickles, which a scorer never does.

    >>> import rankbuffer as rb
    >>> judge = rb.Judge(base_url="http://localhost:8000/v1", model="my-judge")
    >>> config = rb.ScorerConfig(judge=judge, method=rb.SCR(votes=2))
    >>> rb.Scorer(config)
    <Scorer scr>
    """

    judge: Annotated[Judge | SimulatedJudge, "who compares the responses"]
    method: Annotated[Method, "how comparisons become rewards"] = field(default_factory=RankBuffer)
    seed: Annotated[int, "of the order in which responses are shown"] = 0
    on_failure: Annotated[
        Literal["mean", "neutral", "raise"],
        "what a response gets that the judge failed on: the mean of its group, so that its "
        "advantage is 0; 0 for the whole group (neutral); or a JudgeError (raise)",
    ] = "mean"
    advantage: Annotated[
        Literal["grpo", "dr_grpo"],
        "dr_grpo does not divide advantages by the group's standard deviation",
    ] = "grpo"
    reasoning: Annotated[
        tuple[str, str] | None,
        "tags of the reasoning, which the judge must not see; None shows responses whole",
    ] = ("<think>", "</think>")
    prompts: Annotated[
        Mapping[str, str | os.PathLike[str]] | None,
        "{kind of call: file} of prompt templates; see rankbuffer.prompt_template",
    ] = None
    max_response_bytes: Annotated[int | None, "bytes of one response at most; by default 4 MiB"] = (
        None
    )
    max_group_size: Annotated[int | None, "responses of one group at most; by default 4,096"] = None
    max_groups: Annotated[int | None, "groups in flight at most; by default 65,536"] = None

    def to_json(self) -> dict[str, Any]:
        """The config as the library takes it. Holds the judge's key."""
        if not isinstance(self.judge, (Judge, SimulatedJudge)):
            raise ConfigError(f"must be a Judge or a SimulatedJudge, {_got(self.judge)}", "judge")
        if not isinstance(self.method, Method):
            raise ConfigError(
                f"must be an instance, such as rb.RankBuffer(), {_got(self.method)}", "method"
            )
        config = {f.name: getattr(self, f.name) for f in fields(self)}
        config = {name: value for name, value in config.items() if value is not None}
        config |= {"method": self.method.to_json(), "judge": self.judge.to_json()}
        if self.prompts is not None:
            config["prompts"] = _paths(self.prompts)
        return config | {"reasoning": _tags(self.reasoning)}

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> ScorerConfig:
        """From nested mappings, as YAML or JSON files hold them.

        ``{"method": {"name": ..., option: value}, "judge": {option: value}, ...}``.
        ConfigError names an option that is unknown or missing.
        """
        given = dict(options)
        if "judge" in given:
            given["judge"] = judge_from_dict(given["judge"])
        if "method" in given:
            given["method"] = method_from_dict(given["method"])
        if isinstance(given.get("reasoning"), list):
            given["reasoning"] = tuple(given["reasoning"])
        return made_from(cls, given)


def _tags(reasoning: tuple[str, str] | None) -> dict[str, str] | None:
    if reasoning is None:
        return None
    if not isinstance(reasoning, (tuple, list)) or len(reasoning) != 2:
        raise ConfigError(
            f"must be a pair of tags (open, close) or None, got {reasoning!r}", "reasoning"
        )
    return {"open": reasoning[0], "close": reasoning[1]}


def _paths(prompts: Mapping[str, str | os.PathLike[str]]) -> dict[str, str]:
    if not isinstance(prompts, Mapping):
        raise ConfigError(f"must be a mapping of kind to path, {_got(prompts)}", "prompts")
    for kind, path in prompts.items():
        if not isinstance(path, (str, os.PathLike)):
            raise ConfigError(
                f"must be the path of a template file, {_got(path)}", f"prompts.{kind}"
            )
    return {kind: os.fspath(path) for kind, path in prompts.items()}


def _got(value: object) -> str:
    if isinstance(value, type):
        return f"got the class {value.__name__}"
    return f"got {type(value).__name__}"
