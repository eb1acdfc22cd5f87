"""The judges: an OpenAI-compatible endpoint, and a simulated one for tests and demos."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any

from . import _ffi
from ._encode import encode, milliseconds, number, texts
from ._encode import query as encoded_query
from ._options import Mark, documented, made_from, options
from .errors import BusyError, ClosedError, ConfigError, InputError, RankBufferError, of_the_config
from .types import Query


@dataclass(frozen=True, kw_only=True)
class Client:
    """What is set for requests to any judge."""

    timeout: Annotated[float, "seconds that one attempt may take", Mark.CLIENT] = 120.0
    group_timeout: Annotated[float, "seconds that all calls of a group may take", Mark.CLIENT] = (
        600.0
    )
    max_concurrency: Annotated[
        int, "requests in flight at most, over all base URLs", Mark.CLIENT
    ] = 256
    max_retries: Annotated[int, "attempts after the first, where another can help", Mark.CLIENT] = 3
    backoff: Annotated[
        float, "seconds before the second attempt, doubled before each further one", Mark.CLIENT
    ] = 0.5
    backoff_max: Annotated[float, "seconds between two attempts at most", Mark.CLIENT] = 30.0


@documented
@dataclass(frozen=True, kw_only=True)
class Judge(Client):
    """An LLM behind an OpenAI-compatible API.

    >>> import rankbuffer as rb
    >>> rb.Judge(base_url="http://localhost:8000/v1", model="my-judge", max_concurrency=64).timeout
    120.0

    A judge that holds ``api_key`` itself takes it along when it is pickled; the
    variable that ``api_key_env`` names is read when a scorer is made.
    """

    base_url: Annotated[
        str | Sequence[str], "the address, which mostly ends in /v1; or equal servers of the model"
    ]
    model: Annotated[str, "the model's name there"]
    api_key_env: Annotated[
        str | None,
        "environment variable that holds the key; by default none is sent",
        Mark.TRANSPORT,
    ] = None
    api_key: Annotated[str | None, "the key itself, instead", Mark.SECRET] = field(
        default=None, repr=False
    )
    temperature: Annotated[float, "of every request"] = 0.0
    omit_temperature: Annotated[bool, "send none, for models that refuse it"] = False
    max_tokens: Annotated[
        int | None, "tokens of one answer at most; by default the endpoint's own limit"
    ] = None
    seed: Annotated[int | None, "of requests that do not set their own"] = None
    extra_body: Annotated[
        Mapping[str, Any] | None,
        "further fields of every request, for example "
        '{"chat_template_kwargs": {"enable_thinking": false}}',
    ] = None
    headers: Annotated[
        Mapping[str, str] | None, "further headers of every request", Mark.SECRET
    ] = field(default=None, repr=False)
    proxy: Annotated[
        str | None, "http, https or socks5 URL; the environment's proxy is not used", Mark.SECRET
    ] = field(default=None, repr=False)
    system_role: Annotated[
        bool, "False: the system message is put in front of the first user message"
    ] = True

    def to_json(self) -> dict[str, Any]:
        """The judge as the library takes it. Holds the key: not for showing or storing."""
        config = _given(self)
        if not isinstance(self.base_url, str):
            config["base_url"] = texts(self.base_url, "judge.base_url")
        name = self.api_key_env
        if name is not None:
            if self.api_key is not None:
                said = "give either api_key or api_key_env, not both"
                raise ConfigError(said, "judge.api_key_env")
            # Read here: the library does not see later changes of os.environ.
            config["api_key"] = os.environ.get(name)
            if not config["api_key"]:
                said = f"the environment variable {name} is not set"
                raise ConfigError(said, "judge.api_key_env")
        return {"type": "openai", **config}


@documented
@dataclass(frozen=True, kw_only=True)
class SimulatedJudge(Client):
    """A judge that knows the quality of each text and perceives it with chosen errors.

    With all errors 0 it is exact. ``qualities`` gives the quality of a text,
    ``{text: quality}``, or of the texts of each query, ``{query: {text: quality}}``,
    where one text stands under several queries. Both may be mixed, and a quality
    given under the query wins. A query that is a list of chat messages is named by
    ``shown_query(messages)``. A text whose quality is unknown fails the call.
    """

    qualities: Annotated[
        Mapping[str, float | Mapping[str, float]],
        "the quality of each text, or {query: {text: quality}}; the higher the better",
        Mark.TRANSPORT,
    ] = field(repr=False)
    sigma: Annotated[float, "standard deviation of the error of each look at a text"] = 0.0
    drift: Annotated[
        float, "standard deviation of an error of each call, which hurts scores, not comparisons"
    ] = 0.0
    taste: Annotated[float, "standard deviation of a lasting error of each text"] = 0.0
    crowding: Annotated[float, "growth of sigma with each text shown beyond two"] = 0.0
    position_bias: Annotated[float, "advantage of the text shown first"] = 0.0
    latency_ms: Annotated[float, "milliseconds that each call takes", Mark.TRANSPORT] = 0.0
    failure_rate: Annotated[float, "share of attempts that fail, 0..1"] = 0.0
    malformed_rate: Annotated[
        float, "share of the other attempts whose answer cannot be read, 0..1"
    ] = 0.0
    seed: Annotated[int, "of all its errors"] = 0

    def to_json(self) -> dict[str, Any]:
        """The judge as the library takes it."""
        if not isinstance(self.qualities, Mapping):
            raise ConfigError(
                f"must be a mapping of text to quality, got {type(self.qualities).__name__}",
                "judge.qualities",
            )
        qualities = _qualities(self.qualities, "judge.qualities")
        return {"type": "simulated", **_given(self), "qualities": qualities}


def shown_query(query: Query) -> str:
    r"""The name of a query in ``SimulatedJudge(qualities={query: {text: quality}})``.

    A text names itself. Chat messages become ``role: content``, one after the other
    with an empty line between.

    >>> shown_query([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}])
    'system: Be brief.\n\nuser: Hi'
    """
    shown = encoded_query(query, "query")
    if isinstance(shown, str):
        return shown
    for i, message in enumerate(shown):
        if not isinstance(message.get("content"), str):
            raise InputError("must be a string", f"query[{i}].content")
    return "\n\n".join(f"{m['role']}: {m['content']}" for m in shown)


def _qualities(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    return {
        name: _qualities(value, f"{where}[{name!r:.40}]")
        if isinstance(value, Mapping)
        else number(value, f"{where}[{name!r:.40}]")
        for name, value in given.items()
    }


JUDGES: dict[str, type[Judge] | type[SimulatedJudge]] = {
    "openai": Judge,
    "simulated": SimulatedJudge,
}


def _given(judge: Judge | SimulatedJudge) -> dict[str, Any]:
    """The options that are set."""
    values = {name: getattr(judge, name) for name in options(type(judge))}
    return {name: value for name, value in values.items() if value is not None}


def judge_from_dict(given: Mapping[str, Any]) -> Judge | SimulatedJudge:
    """A judge from a mapping of its options, as configuration files have it.

    ``{"type": "simulated", ...}`` is a simulated judge, anything else a real one.
    ConfigError names an option that is unknown or missing. The library checks the
    values when a scorer is made.
    """
    if not isinstance(given, Mapping):
        raise ConfigError(f"must be a mapping of options, got {type(given).__name__}", "judge")
    kind = given.get("type", "openai")
    if not isinstance(kind, str) or kind not in JUDGES:
        raise ConfigError(f"{kind!r} is not one of {', '.join(JUDGES)}", "judge.type")
    values = {name: value for name, value in given.items() if name != "type"}
    return made_from(JUDGES[kind], values, "judge")


class JudgeServer:
    """A simulated judge as an OpenAI-compatible HTTP server, until it is closed.

    >>> import rankbuffer as rb
    >>> with rb.JudgeServer(rb.SimulatedJudge(qualities={"a": 1})) as server:
    ...     judge = rb.Judge(base_url=server.url, model="any")

    ``host``, ``port``
        Where it listens. Port 0 takes a free one; ``url`` has its number. FileError if
        the address is in use.
    """

    def __init__(self, judge: SimulatedJudge, *, host: str = "127.0.0.1", port: int = 0) -> None:
        library = _ffi.library()
        with of_the_config():
            known = [
                name
                for name, option in options(type(judge)).items()
                if Mark.CLIENT not in option.metadata
            ]
            config = {name: value for name, value in judge.to_json().items() if name in known}
            self._handle = library.sim_start(encode({**config, "host": host, "port": port}))
        self._url = library.sim_url(self._handle).decode()

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
