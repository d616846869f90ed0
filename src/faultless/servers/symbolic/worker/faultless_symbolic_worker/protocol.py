"""What the server and a run say to each other: the request, progress, refusals, isolation. Plain JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypedDict

CHECK, EXCEPTION, COMPARE, BRANCHES = (
    "symbolic_check",
    "find_path_to_exception",
    "compare_functions",
    "analyze_branches",
)
KERNEL_LAYERS = ("limits", "namespaces", "landlock", "seccomp")
STRICT: Final = "strict"
Level = Literal["strict", "partial", "none", "not needed"]


@dataclass(frozen=True)
class Question:
    tool: str
    function: str
    other: str = ""
    """The second function, where two are compared."""
    exception: str = ""
    """The exception that is looked for."""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.function, self.other) if self.tool == COMPARE else (self.function,)


@dataclass(frozen=True, kw_only=True)
class Request:
    question: Question
    code: str
    seconds: float
    """Until there must be an answer."""
    is_static: bool
    """Read the code only; run nothing."""
    memory_megabytes: int
    requires_strict: bool
    allow_imports: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Request:
        question, imports = Question(**data["question"]), tuple(data["allow_imports"])
        return cls(**{**data, "question": question, "allow_imports": imports})


class Progress(TypedDict):
    paths: int
    inputs: int


class RefusalFields(TypedDict):
    kind: str
    message: str
    hint: str | None
    details: dict[str, Any]


class Told(TypedDict, total=False):
    """One line of a run's report: progress any number of times, then one of the other two."""

    progress: Progress
    answer: dict[str, Any]
    fault: RefusalFields


class Refusal(Exception):  # noqa: N818 - it becomes a fault on the other side of the pipe
    """Why a request cannot be answered. `kind` is a fault kind's name; the worker does not import the
    contract.
    """

    def __init__(self, kind: str, message: str, *, hint: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.details = {name: value for name, value in details.items() if value is not None}

    def as_json(self) -> RefusalFields:
        return {"kind": self.kind, "message": self.message, "hint": self.hint, "details": self.details}


class Isolation(TypedDict):
    level: Level
    layers: list[str]
    missing: list[str]


NOT_NEEDED = Isolation(level="not needed", layers=[], missing=[])
"""Where no user code ran there is nothing to isolate."""


def describe_layers(layers: list[str]) -> Isolation:
    missing = [name for name in (*KERNEL_LAYERS, "audit") if name not in layers]
    return Isolation(level=level_of(layers), layers=list(layers), missing=missing)


def level_of(layers: list[str]) -> Level:
    if all(layer in layers for layer in KERNEL_LAYERS):
        return STRICT
    return "partial" if layers else "none"
