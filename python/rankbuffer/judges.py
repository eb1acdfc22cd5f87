"""The judges: an OpenAI-compatible endpoint, and a simulated one for tests and demos."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any

from . import _ffi
from ._encode import encode, milliseconds, number, texts
from .errors import BusyError, ClosedError, ConfigError, RankBufferError, of_the_config


@dataclass(frozen=True, kw_only=True)
class Judge:
    """An LLM behind an OpenAI-compatible API, at one base URL or several equal ones.

    The key comes from the environment variable that ``api_key_env`` names, read
    when a scorer is built; a judge given ``api_key`` itself carries it along when
    pickled. ``timeout`` is for one attempt and ``group_timeout`` for a whole
    group, in seconds; so are ``backoff``, the pause before the first of
    ``max_retries`` that doubles for each further one, and ``backoff_max``.
    ``max_concurrency`` bounds the requests in flight over all base URLs.
    ``extra_body`` is merged into each request, for example
    ``{"chat_template_kwargs": {"enable_thinking": False}}``. Models that know no
    system role get its text in front of the first user message with
    ``system_role=False``; those that refuse a temperature are not sent one with
    ``omit_temperature=True``.
    """

    base_url: str | Sequence[str]
    model: str
    api_key_env: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float = 0.0
    omit_temperature: bool = False
    max_tokens: int | None = None
    seed: int | None = None
    extra_body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    timeout: float = 120.0
    group_timeout: float = 600.0
    max_concurrency: int = 256
    max_retries: int = 3
    backoff: float = 0.5
    backoff_max: float = 30.0
    proxy: str | None = field(default=None, repr=False)
    system_role: bool = True

    def to_json(self) -> dict[str, Any]:
        """The judge as the library takes it. Holds the key: not for showing or storing."""
        config = _options(self)
        config["type"] = "openai"
        if not isinstance(self.base_url, str):
            config["base_url"] = texts(self.base_url, "judge.base_url")
        key = self.api_key
        if self.api_key_env is not None:
            if key is not None:
                raise ConfigError(
                    "give either api_key or api_key_env, not both", "judge.api_key_env"
                )
            # Read here: the library does not see later changes of os.environ.
            key = os.environ.get(self.api_key_env)
            if not key:
                raise ConfigError(
                    f"the environment variable {self.api_key_env} is not set", "judge.api_key_env"
                )
            del config["api_key_env"]
        if key is not None:
            config["api_key"] = key
        return config


@dataclass(frozen=True, kw_only=True)
class SimulatedJudge:
    """A judge that knows the quality of each text and perceives it with chosen errors.

    All errors zero is exact. ``sigma`` is noise of every look at a text, ``drift``
    of every call (hurts scores, not comparisons), ``taste`` a persistent error for
    each text, ``crowding`` the growth of sigma with the number of texts shown,
    ``position_bias`` the advantage of the text shown first. ``failure_rate`` and
    ``malformed_rate`` are shares of attempts. A text without quality is an error.
    """

    qualities: Mapping[str, float] = field(repr=False)
    sigma: float = 0.0
    drift: float = 0.0
    taste: float = 0.0
    crowding: float = 0.0
    position_bias: float = 0.0
    latency_ms: float = 0.0
    failure_rate: float = 0.0
    malformed_rate: float = 0.0
    seed: int = 0
    timeout: float = 120.0
    group_timeout: float = 600.0
    max_concurrency: int = 256
    max_retries: int = 3
    backoff: float = 0.5
    backoff_max: float = 30.0

    def to_json(self) -> dict[str, Any]:
        """The judge as the library takes it."""
        config = _options(self)
        config["type"] = "simulated"
        if not isinstance(self.qualities, Mapping):
            raise ConfigError(
                f"must be a mapping of text to quality, got {type(self.qualities).__name__}",
                "judge.qualities",
            )
        config["qualities"] = {
            t: number(q, f"judge.qualities[{t!r:.40}]") for t, q in self.qualities.items()
        }
        return config


# Options of the client, which the server of a simulated judge does not have.
_CLIENT_ONLY = (
    "type",
    "timeout",
    "group_timeout",
    "backoff",
    "backoff_max",
    "max_concurrency",
    "max_retries",
)


def _options(judge: Judge | SimulatedJudge) -> dict[str, Any]:
    """The options that are set."""
    options = {f.name: getattr(judge, f.name) for f in fields(judge)}
    return {name: value for name, value in options.items() if value is not None}


def judge_from_dict(options: Mapping[str, Any]) -> Judge | SimulatedJudge:
    """A judge from a mapping of its options, as configuration files have it.

    ``{"type": "simulated", ...}`` is a simulated judge, anything else a real one.
    """
    if not isinstance(options, Mapping):
        raise ConfigError(f"judge must be a mapping of options, got {type(options).__name__}")
    given = dict(options)
    type_ = given.pop("type", "openai")
    kinds: dict[str, type[Judge] | type[SimulatedJudge]] = {
        "openai": Judge,
        "simulated": SimulatedJudge,
    }
    kind = kinds.get(type_) if isinstance(type_, str) else None
    if kind is None:
        raise ConfigError(f"judge.type: {type_!r} is not one of openai, simulated")
    known = {f.name for f in fields(kind)}
    for option in given:
        if option not in known:
            raise ConfigError(
                f"judge.{option}: unknown option, known are {', '.join(sorted(known))}"
            )
    try:
        return kind(**given)
    except TypeError as missing:
        raise ConfigError(f"judge: {str(missing).partition('__init__() ')[2] or missing}") from None


class JudgeServer:
    """A simulated judge as an OpenAI-compatible HTTP server, until closed.

    ``with JudgeServer(judge) as server:`` serves at ``server.url``, which goes
    into ``Judge(base_url=...)``. Port 0 takes a free one.
    """

    def __init__(self, judge: SimulatedJudge, *, host: str = "127.0.0.1", port: int = 0) -> None:
        library = _ffi.library()
        with of_the_config():
            config = {k: v for k, v in judge.to_json().items() if k not in _CLIENT_ONLY}
            self._handle = library.sim_start(encode({**config, "host": host, "port": port}))
        self._url = library.sim_url(self._handle)

    @property
    def url(self) -> str:
        """The base URL, ``http://host:port/v1``."""
        return self._url

    def close(self, deadline: float = 5.0) -> None:
        """Stops serving; requests in flight are cut off. Idempotent."""
        handle, self._handle = self._handle, 0
        if not handle or _ffi.forked():
            return
        with suppress(ClosedError, BusyError):  # busy: the rest ends in the background
            _ffi.library().sim_stop(handle, milliseconds(deadline, "deadline"))

    def __enter__(self) -> JudgeServer:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a JudgeServer cannot be pickled; pass its url")

    def __del__(self) -> None:
        # Never started, or the interpreter is going down.
        with suppress(AttributeError, RankBufferError):
            self.close(deadline=0)
