"""One request from beginning to end, in the supervisor: read the code, race the engines, write the answer."""

from __future__ import annotations

import platform
import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from . import sandbox
from .children import Children, Limits
from .protocol import BRANCHES, NOT_NEEDED, Progress, Refusal, Request, Told, describe_layers
from .provable import read_language
from .race import Race
from .report import write_answer, write_static
from .roles import perform
from .source import read_source

if TYPE_CHECKING:
    from collections.abc import Callable


def describe_engine() -> dict[str, Any]:
    """What this engine is, and what its children will stand under."""
    return {
        "python_version": platform.python_version(),
        "crosshair_version": version("crosshair-tool"),
        "z3_version": version("z3-solver"),
        "layers": sandbox.probe(),
    }


def handle(request: Request, tell: Callable[[Told], None]) -> None:
    limits = Limits(request.memory_megabytes, request.seconds, request.requires_strict)
    children = Children(perform, limits)
    try:
        tell({"answer": _answer(request, children, lambda progress: tell({"progress": progress}))})
    except Refusal as refusal:
        tell({"fault": refusal.as_json()})
    finally:
        # Reap after answering: reaping a large process is slow.
        children.stop_all()
        children.reap()


def _answer(request: Request, children: Children, progress: Callable[[Progress], None]) -> dict[str, Any]:
    deadline = time.monotonic() + request.seconds
    question = request.question
    source = read_source(request.code, frozenset(request.allow_imports))
    for name in question.names:
        source.find_function(name)
    if request.is_static and question.tool == BRANCHES:
        return {**write_static(source, question), "isolation": NOT_NEEDED}
    language = read_language(source)
    race = Race(source, question, language, children, deadline=deadline, progress=progress)
    answer = write_answer(source, question, race.run())
    layers = children.isolation
    return {**answer, "isolation": NOT_NEEDED if layers is None else describe_layers(layers)}
