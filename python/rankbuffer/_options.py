"""Options and parameters that are stated once, with what they mean.

An option is a field of a dataclass or of a TypedDict whose type is annotated with its
meaning: ``Annotated[float, "seconds that one attempt may take", Mark.CLIENT]``.
Signatures, docstrings, the command line's help and the checks of configurations are
made from it.
"""

from __future__ import annotations

import difflib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from .errors import ConfigError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Mark(Enum):
    """Why no verdict depends on an option, so that it may change when a run is resumed."""

    SECRET = "it may hold a key, and is neither shown nor stored"
    TRANSPORT = "it is about the way to the judge"
    CLIENT = "it is about sending requests, and a judge's server has no use for it"


@dataclass(frozen=True)
class Option:
    """An option of a dataclass, or a parameter that a TypedDict describes."""

    name: str
    type: Any
    default: Any
    """MISSING where it must be given."""
    help: str
    metadata: tuple[Any, ...]
    """The rest of the annotation, such as a ``Mark``."""

    @property
    def affects_verdicts(self) -> bool:
        """Whether a run must be resumed with the same value."""
        return not any(isinstance(one, Mark) for one in self.metadata)

    @property
    def choices(self) -> list[Any]:
        """The values it may have, where its type lists them."""
        parts = [self.type, *get_args(self.type)]
        return [value for part in parts if get_origin(part) is Literal for value in get_args(part)]

    @property
    def type_name(self) -> str:
        """The type as one writes it."""
        name = self.type.__name__ if isinstance(self.type, type) else str(self.type)
        return re.sub(r"\b[a-z_]+\.(?=\w)", "", name)

    def __str__(self) -> str:
        default = "" if self.default is MISSING or self.default is None else f" = {self.default!r}"
        return f"{self.name}{default}: {self.help}"


def options(kind: type) -> dict[str, Option]:
    """The options of a dataclass or a TypedDict by name, inherited ones last."""
    own = inspect.get_annotations(kind)
    defaults = {f.name: _default(f) for f in fields(kind)} if is_dataclass(kind) else {}
    found = {}
    hints = get_type_hints(kind, include_extras=True)
    for name, hint in sorted(hints.items(), key=lambda item: item[0] not in own):
        if get_origin(hint) is Annotated:
            help_, *metadata = hint.__metadata__
            stated = next((m.default for m in metadata if hasattr(m, "default")), MISSING)
            default = defaults.get(name, stated)
            found[name] = Option(name, hint.__origin__, default, help_, tuple(metadata))
    return found


def _default(field: Any) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def summary(kind: type) -> str:
    """The documentation of a class without its options."""
    return (inspect.getdoc(kind) or "").partition("\n\nOptions:\n")[0]


def known_names(name: object, known: Iterable[str]) -> str:
    """What a message about an unknown name ends with: the names there are, and the likeliest."""
    names = list(known)
    close = difflib.get_close_matches(str(name), names, 1)
    return ", ".join(names) + (f"; did you mean {close[0]!r}?" if close else "")


def made_from(kind: type[T], given: Mapping[str, Any], where: str = "") -> T:
    """A dataclass from a mapping of its options. ConfigError names an option that is wrong."""
    at = f"{where}." if where else ""
    known = {field.name: _default(field) for field in fields(kind)}  # type: ignore[arg-type]
    for name in given:
        if name not in known:
            said = f"unknown option, known are {known_names(name, sorted(known))}"
            raise ConfigError(said, f"{at}{name}", code="unknown_field")
    for name, default in known.items():
        if default is MISSING and name not in given:
            raise ConfigError("missing", f"{at}{name}", code="missing_field")
    return kind(**given)


def documented(kind: type[T], heading: str = "Options") -> type[T]:
    """Adds the options of a class to its documentation."""
    kind.__doc__ = f"{inspect.getdoc(kind)}\n\n{heading}:\n{_listing(options(kind).values())}"
    return kind


def with_fields(kind: type[T]) -> type[T]:
    """Adds the fields of a class that one only reads to its documentation."""
    return documented(kind, "Fields")


def taking(kind: type) -> Callable[[F], F]:
    """Gives a function with ``**options`` the parameters that ``kind`` states, for ``help()``."""

    def decorate(function: F) -> F:
        stated = options(kind).values()
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        empty = inspect.Parameter.empty
        more = [
            inspect.Parameter(
                option.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=empty if option.default is MISSING else option.default,
                annotation=option.type_name,
            )
            for option in stated
        ]
        function.__signature__ = signature.replace(parameters=own + more)  # type: ignore[attr-defined]
        function.__doc__ = f"{inspect.getdoc(function)}\n\nOptions:\n{_listing(stated)}"
        return function

    return decorate


def _listing(stated: Iterable[Option]) -> str:
    return "\n".join(
        textwrap.fill(str(option), 88, initial_indent="    ", subsequent_indent="        ")
        for option in stated
    )
