"""One thing that goes wrong, and the exact answer to it."""

from dataclasses import dataclass, field
from typing import Any

MISSING: Any = object()


@dataclass(frozen=True)
class Case:
    sentence: str
    tool: str
    kind: str
    message: str
    arguments: dict[str, Any] = field(default_factory=dict)
    code: int | None = None
    """Of the JSON-RPC error; None where the tool ran and the fault stands in a result."""
    output: Any = None
    details: dict[str, Any] = field(default_factory=dict)


def refused(sentence: str, tool: str, arguments: dict[str, Any], message: str) -> Case:
    return Case(sentence, tool, "invalid_params", f"Invalid params: {message}", arguments, -32602)


def system(
    sentence: str, tool: str, kind: str, message: str, arguments: dict[str, Any] | None = None
) -> Case:
    return Case(sentence, tool, kind, message, arguments or {}, -32603)


def left_out(sentence: str, tool: str, reason: str) -> Case:
    return system(sentence, tool, "unavailable", f"Internal error: the tool {tool} is left out: {reason}")
