"""A fault: what is raised when a tool could not do its job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from faultless.contract.kinds import FACTS, FaultKind, KindFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Origin = Literal["local", "peer"]
Layer = Literal["transport", "protocol", "tool", "payload"]
Outcome = Literal["not_done", "unknown", "done"]

_PARAMETERS = (
    "kind", "message", "hint", "details", "retry_after_seconds", "origin", "layer", "outcome"
)  # fmt: skip


class Fault(Exception):  # noqa: N818 - a fault is the word of the contract
    """One kind, one sentence, one next move. Raised, never returned.

    In `details` an absent key and a null value mean the same, so nulls are dropped.
    Origin, layer, outcome and second are known to a client only and never travel.
    """

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        *,
        hint: str | None = None,
        details: Mapping[str, Json] | None = None,
        retry_after_seconds: float | None = None,
        origin: Origin = "local",
        layer: Layer | None = None,
        outcome: Outcome | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = FaultKind(kind)
        self.message = message
        self.hint = hint
        self.details: dict[str, Json] = {
            name: value for name, value in (details or {}).items() if value is not None
        }
        self.retry_after_seconds = retry_after_seconds
        self.origin = origin
        self.layer = layer
        """How far the call got before it failed."""
        self.outcome = outcome
        """What is known of the call's effect."""
        self.second: BaseException | None = None
        """What went wrong when a fallback was tried."""

    @property
    def facts(self) -> KindFacts:
        return FACTS[self.kind]

    def copy(self, **changes: Any) -> Fault:  # noqa: ANN401 - the parameters of a fault
        """Another fault like this one, apart from the changes."""
        again = Fault(**{name: getattr(self, name) for name in _PARAMETERS} | changes)
        again.second = self.second
        return again

    def __repr__(self) -> str:
        return f"Fault({self.kind.value}: {self.message})"
