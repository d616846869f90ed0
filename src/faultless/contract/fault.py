"""What a fault is: the closed list of kinds with what is true of each, and the exception that carries one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Origin = Literal["local", "peer"]
Layer = Literal["transport", "protocol", "tool", "payload"]
Outcome = Literal["not_done", "unknown", "done"]


class Certainty(StrEnum):
    """How sure it is that there is a fault at all."""

    DECLARED = "declared"
    RECOGNISED = "recognised"
    SUSPECTED = "suspected"


class KindBasis(StrEnum):
    """Where a fault's kind comes from; from prose nothing follows."""

    DECLARED = "declared"
    CODE = "code"
    PROSE = "prose"


# JSON-RPC's own codes; the middle one is where servers put theirs.
INVALID_PARAMS_CODE = -32602
SERVER_ERROR_CODE = -32000
INTERNAL_ERROR_CODE = -32603


class Retry(StrEnum):
    """When the same call may be made again."""

    YES = "yes"
    LATER = "later"
    MAYBE = "maybe"
    AFTER_FIXING = "after fixing"
    AFTER_APPROVAL = "after approval"
    AFTER_LOGIN = "after login"
    AFTER_REREADING = "after re-reading"
    NEVER = "never"
    NEVER_BLINDLY = "never blindly"
    REPORT_IT = "report it"


@dataclass(frozen=True, slots=True)
class KindFacts:
    retry: Retry
    when: str
    code: int = SERVER_ERROR_CODE


# Each kind with its facts. No docstring: it would go into the schema of every tool that takes a kind.
class FaultKind(StrEnum):
    facts: KindFacts

    def __new__(cls, name: str, *facts: Any) -> Self:  # noqa: ANN401 - what KindFacts takes
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.facts = KindFacts(*facts)
        return kind

    INVALID_PARAMS = (
        "invalid_params",
        Retry.AFTER_FIXING,
        "an argument breaks its schema",
        INVALID_PARAMS_CODE,
    )
    UNKNOWN_TOOL = "unknown_tool", Retry.AFTER_FIXING, "no tool has that name", INVALID_PARAMS_CODE
    USAGE_ERROR = (
        "usage_error",
        Retry.AFTER_FIXING,
        "the engine refused arguments that passed the schema",
        INVALID_PARAMS_CODE,
    )
    PARSE_ERROR = (
        "parse_error",
        Retry.AFTER_FIXING,
        "text cannot be parsed: source, frontmatter, a script's JSON",
    )
    PERMISSION_DENIED = (
        "permission_denied",
        Retry.NEVER,
        "a rule forbids it: a path outside the root, a missing scope",
    )
    APPROVAL_REQUIRED = "approval_required", Retry.AFTER_APPROVAL, "a person must approve first"
    AUTH_REQUIRED = "auth_required", Retry.AFTER_LOGIN, "there is no valid login"
    NOT_FOUND = "not_found", Retry.AFTER_FIXING, "the thing named is not there"
    CONFLICT = "conflict", Retry.AFTER_REREADING, "it exists already, or changed since it was read"
    RATE_LIMITED = "rate_limited", Retry.LATER, "told to slow down; carries retry_after_seconds"
    TOO_LARGE = "too_large", Retry.AFTER_FIXING, "input or output over a stated limit"
    UNSUPPORTED = "unsupported", Retry.NEVER, "a construct the engine cannot handle"
    COLLECTION_ERROR = "collection_error", Retry.AFTER_FIXING, "test files could not be imported or parsed"
    TIMEOUT = "timeout", Retry.MAYBE, "the deadline passed; partial output is kept"
    INTERRUPTED = "interrupted", Retry.YES, "stopped from outside"
    CRASH = "crash", Retry.MAYBE, "killed by a signal, or an exit code out of range"
    ENGINE_ERROR = "engine_error", Retry.MAYBE, "the engine malfunctioned"
    TOOL_FAILED = "tool_failed", Retry.MAYBE, "the tool ran and says it failed; no more is known"
    UPSTREAM_ERROR = "upstream_error", Retry.MAYBE, "a service refused or failed"
    OUTCOME_UNKNOWN = "outcome_unknown", Retry.NEVER_BLINDLY, "a side effect may or may not have happened"
    UNAVAILABLE = "unavailable", Retry.LATER, "a process will not start, a server cannot be reached"
    INTERNAL = (
        "internal",
        Retry.REPORT_IT,
        "a bug in the server that says so; read from a stranger: theirs",
        INTERNAL_ERROR_CODE,
    )


FACTS = {kind: kind.facts for kind in FaultKind}
_PARAMETERS = (
    *("kind", "message", "hint", "details", "retry_after_seconds"),
    *("origin", "layer", "outcome", "certainty", "kind_basis"),
)


class Fault(Exception):  # noqa: N818 - a fault is the word of the contract
    """One kind, one sentence, one next move. Raised, never returned.

    In `details` an absent key and a null value mean the same, so nulls are dropped.
    Origin, layer, outcome, certainty, kind_basis and second are known to a client only and never travel.
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
        certainty: Certainty = Certainty.DECLARED,
        kind_basis: KindBasis = KindBasis.DECLARED,
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
        self.certainty = certainty
        """How sure it is that this is a fault."""
        self.kind_basis = kind_basis
        """Where the kind comes from: whoever raised it, a code, or words that were understood."""
        self.second: BaseException | None = None
        """What went wrong when a fallback was tried."""

    @property
    def facts(self) -> KindFacts:
        return self.kind.facts

    def copy(self, **changes: Any) -> Fault:  # noqa: ANN401 - the parameters of a fault
        """Another fault like this one, apart from the changes."""
        again = Fault(**{name: getattr(self, name) for name in _PARAMETERS} | changes)
        again.second = self.second
        return again

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.message}"

    def __repr__(self) -> str:
        return f"Fault({self.kind.value}: {self.message})"
