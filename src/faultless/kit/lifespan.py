"""State that is made once, when a server starts, handed to whatever asks for its type, closed at the end."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, get_args

from faultless.kit.functions import read_hints, refuse_definition, show_hint

Open = Callable[[], AbstractAsyncContextManager[object]]
_ROLE = "lifespan"


def read_lifespan(function: Callable[..., Any]) -> tuple[Any, Open]:
    """The type of what a generator makes, and how to make it; with or without `async`, bare or decorated."""
    making = inspect.unwrap(function)
    is_async = inspect.isasyncgenfunction(making)
    if not is_async and not inspect.isgeneratorfunction(making):
        refuse_definition(making, _ROLE, "it does not yield", "make the state, yield it once, then close it")
    if inspect.signature(making).parameters:
        refuse_definition(making, _ROLE, "it has parameters", "read what it needs from the environment")
    return _find_type(making), asynccontextmanager(making) if is_async else _in_this_thread(making)


def _find_type(making: Callable[..., Any]) -> Any:  # noqa: ANN401 - a type
    hint = read_hints(making, _ROLE).get("return")
    kinds = get_args(hint)
    if not kinds:
        fix = "write for example -> Iterator[Shop], or -> AsyncIterator[Shop]"
        refuse_definition(making, _ROLE, "it does not say what it yields", fix)
    kind = kinds[0]
    if not isinstance(kind, type) or kind.__module__ == "builtins":
        what = f"it yields {show_hint(kind)}, which a client may send, too"
        refuse_definition(making, _ROLE, what, "yield an object of a class that means nothing else")
    return kind


def _in_this_thread(making: Callable[..., Any]) -> Open:
    @asynccontextmanager
    async def opened() -> AsyncIterator[object]:
        with contextmanager(making)() as state:
            yield state

    return opened
