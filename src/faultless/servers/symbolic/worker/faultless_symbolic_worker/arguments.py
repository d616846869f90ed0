"""Arguments of one call as expressions, and back."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .parameters import OMITTED, Parameters
from .values import NotRenderableError, Renderer, evaluate, same

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHARED = "shared"


@dataclass(frozen=True)
class Written:
    """One call as text. `imports` are the modules the expressions need besides the user's code."""

    args: tuple[str, ...] = ()
    kwargs: dict[str, str] = field(default_factory=dict)
    imports: tuple[str, ...] = ()

    @property
    def call_text(self) -> str:
        return ", ".join([*self.args, *(f"{name}={text}" for name, text in self.kwargs.items())])


def write_arguments(values: list[Any], parameters: Parameters, namespace: Mapping[str, Any]) -> Written:
    """Raises NotRenderableError unless evaluating the text gives the values back."""
    renderer = Renderer(namespace)
    positional, named = parameters.bind(values)
    written = _write_shared(positional, named, renderer) or Written(
        tuple(renderer.render(value) for value in positional),
        {name: renderer.render(value) for name, value in named.items()},
    )
    written = Written(written.args, written.kwargs, tuple(sorted(renderer.imports)))
    back_positional, back_named = read_arguments(written, namespace)
    if not (same(positional, back_positional) and same(named, back_named)):
        raise NotRenderableError("the arguments do not come back as they were")
    return written


def _write_shared(positional: list[Any], named: dict[str, Any], renderer: Renderer) -> Written | None:
    """One object passed twice: the first place names it, the second uses the name."""
    mutable = [value for value in positional if isinstance(value, list | dict | set | bytearray)]
    twice = next((value for value in mutable if sum(value is other for other in mutable) > 1), None)
    if twice is None:
        return None
    texts = []
    named_already = False
    for value in positional:
        if value is not twice:
            texts.append(renderer.render(value))
        else:
            texts.append(_SHARED if named_already else f"({_SHARED} := {renderer.render(value)})")
            named_already = True
    return Written(tuple(texts), {name: renderer.render(value) for name, value in named.items()})


def read_arguments(written: Written, namespace: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    text = f"(lambda *args, **kwargs: (list(args), kwargs))({written.call_text})"
    positional, named = evaluate(text, namespace)
    return positional, named


def unbind(positional: list[Any], named: dict[str, Any], parameters: Parameters) -> list[Any]:
    """The inverse of `Parameters.bind`: one value a parameter."""
    waiting = list(positional)
    values: list[Any] = []
    rest = dict(named)
    for item in parameters.items:
        if item.kind is inspect.Parameter.VAR_POSITIONAL:
            values.append(tuple(waiting))
            waiting = []
        elif item.kind is inspect.Parameter.VAR_KEYWORD:
            values.append(rest)
            rest = {}
        elif item.kind is inspect.Parameter.KEYWORD_ONLY:
            values.append(rest.pop(item.name, OMITTED))
        else:
            values.append(waiting.pop(0) if waiting else OMITTED)
    return values
