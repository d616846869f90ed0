"""What a call gives back when it is not a fault."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from faultless.contract import Certainty, Fault, Json, Reading


@dataclass(frozen=True, slots=True)
class Reply:
    value: Any
    """The answer as plain data: the structured content, else the JSON object in the text, else the text."""
    text: str
    via: Literal["server", "fallback"]
    correlation_id: str
    duration_seconds: float
    attempts: int
    certainty: Certainty | None = None
    """`suspected` where the answer reads like a failure; None for a plain verdict."""
    suspicion: Fault | None = None
    """The fault it would be, if the suspicion is right."""
    shape: str | None = None
    """What gave it away."""
    content: list[Json] = field(default_factory=list)
    """Every content block as it came, images and links too."""
    fault: Fault | None = None
    """Why the fallback was used."""


def find_value(result: dict[str, Any], reading: Reading) -> Json:
    structured: Json = result.get("structuredContent")
    if structured is not None:
        return structured
    return reading.text if reading.payload is None else reading.payload


def find_content(result: dict[str, Any]) -> list[Json]:
    content = result.get("content")
    return content if isinstance(content, list) else []
