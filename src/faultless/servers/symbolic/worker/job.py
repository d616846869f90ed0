"""One request from beginning to end, in the supervisor: read the code, race the engines, write the answer."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultless.servers.symbolic.worker import sandbox
from faultless.servers.symbolic.worker.children import Children, Limits
from faultless.servers.symbolic.worker.prepare import BRANCHES, Question
from faultless.servers.symbolic.worker.provable import read_language
from faultless.servers.symbolic.worker.race import Race
from faultless.servers.symbolic.worker.refusal import Refusal
from faultless.servers.symbolic.worker.report import write_answer, write_static
from faultless.servers.symbolic.worker.roles import perform
from faultless.servers.symbolic.worker.source import read_source

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Request:
    """`seconds` is what is left of the caller's time when the supervisor gets it."""

    question: Question
    code: str
    seconds: float
    is_static: bool = False
    memory_megabytes: int = 2048
    requires_strict: bool = False
    allow_imports: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Request:
        return cls(
            **{
                **data,
                "question": Question(**data["question"]),
                "allow_imports": tuple(data["allow_imports"]),
            }
        )


def handle(request: Request, tell: Callable[[dict[str, Any]], None]) -> None:
    """Tells progress, and at the end one `answer` or one `fault`."""
    limits = Limits(request.memory_megabytes, request.seconds, requires_strict=request.requires_strict)
    children = Children(perform, limits)
    try:
        tell({"answer": _answer(request, children, tell)})
    except Refusal as refusal:
        tell({"fault": refusal.as_json()})
    finally:
        # After the answer is told: nobody should wait for dead processes to be buried.
        children.stop_all()
        children.reap()


def _answer(request: Request, children: Children, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    deadline = time.monotonic() + request.seconds
    question = request.question
    source = read_source(request.code, frozenset(request.allow_imports))
    for name in question.names:
        source.find_function(name)
    if request.is_static and question.tool == BRANCHES:
        return {**write_static(source, question), "isolation": _isolation(None)}
    language = read_language(source)
    race = Race(
        source,
        question,
        language,
        children,
        deadline=deadline,
        progress=lambda progress: tell({"progress": progress}),
    )
    findings = race.run()
    return {**write_answer(source, question, findings), "isolation": _isolation(children.isolation)}


def _isolation(layers: list[str] | None) -> dict[str, Any]:
    """Where no user code ran there is nothing to isolate."""
    if layers is None:
        return {"level": "not needed", "layers": [], "missing": []}
    missing = [name for name in (*sandbox.KERNEL_LAYERS, "audit") if name not in layers]
    return {"level": sandbox.level_of(layers), "layers": layers, "missing": missing}
