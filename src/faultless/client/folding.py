"""One table for everything the SDK and its transports raise, folded into one Fault.

A group counts as its first member. Cancellation is never folded: it belongs to whoever cancelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from mcp import MCPError
from mcp.client.streamable_http import StreamableHTTPError
from mcp_types import REQUEST_TIMEOUT
from pydantic import ValidationError

from faultless.client.http import find_stand_in
from faultless.contract import Certainty, Fault, FaultKind, KindBasis, clean, read
from faultless.contract.portable import make_portable

if TYPE_CHECKING:
    from faultless.client.frames import Exchange
    from faultless.client.listing import ListedTool
    from faultless.contract import Layer, Reading

# What is raised, the kind of fault it becomes, and when it is raised.
_ROWS: tuple[tuple[type[Exception], FaultKind, str], ...] = (
    (MCPError, FaultKind.UNAVAILABLE, "the connection ended (a peer's own error is read, not folded)"),
    (ValidationError, FaultKind.UPSTREAM_ERROR, "the peer's answer breaks the protocol"),
    (RuntimeError, FaultKind.UPSTREAM_ERROR, "the session cannot go on: versions, rounds, claims, schemas"),
    (TimeoutError, FaultKind.TIMEOUT, "a wait inside the transport ran out"),
    (OSError, FaultKind.UNAVAILABLE, "the process will not start, the socket fails"),
    (ValueError, FaultKind.USAGE_ERROR, "the command or address can never work"),
    (httpx2.HTTPError, FaultKind.UNAVAILABLE, "HTTP fails below the protocol"),
    (httpx2.InvalidURL, FaultKind.USAGE_ERROR, "the address is none"),
    (httpx2.UnsupportedProtocol, FaultKind.USAGE_ERROR, "the address is none for HTTP"),
    (httpx2.StreamError, FaultKind.UNAVAILABLE, "HTTP fails half-way"),
    (httpx2.CookieConflict, FaultKind.UNAVAILABLE, "HTTP fails below the protocol"),
    (httpx2.SSEError, FaultKind.UNAVAILABLE, "the event stream is none"),
    (StreamableHTTPError, FaultKind.UNAVAILABLE, "the HTTP transport gave up"),
    (anyio.ClosedResourceError, FaultKind.UNAVAILABLE, "the stream is closed"),
    (anyio.BrokenResourceError, FaultKind.UNAVAILABLE, "the other side is gone"),
    (anyio.EndOfStream, FaultKind.UNAVAILABLE, "nothing more will come"),
    (Exception, FaultKind.INTERNAL, "none of these: a bug in faultless"),
)
TABLE: dict[type[Exception], FaultKind] = {raised: kind for raised, kind, _ in _ROWS}
WHEN: dict[type[Exception], str] = {raised: when for raised, _, when in _ROWS}

_TRANSPORT_CODES = frozenset({-32700, -32600, -32601})
_REFUSALS = frozenset({FaultKind.INVALID_PARAMS, FaultKind.UNKNOWN_TOOL})
# Who says one of these has looked and not acted; all other kinds may come after the effect.
_BEFORE_ACTING = _REFUSALS | {
    FaultKind.USAGE_ERROR,
    FaultKind.PERMISSION_DENIED,
    FaultKind.APPROVAL_REQUIRED,
    FaultKind.AUTH_REQUIRED,
    FaultKind.NOT_FOUND,
    FaultKind.CONFLICT,
    FaultKind.RATE_LIMITED,
}
# As JSON-RPC's own errors these are about our frame or its method: no tool was called.
_BEFORE_CALLING = frozenset({FaultKind.PARSE_ERROR, FaultKind.UNSUPPORTED})
# Details that only a run has; what was said after one says nothing about its effect.
_SIGNS_OF_A_RUN = frozenset(
    {"output", "printed", "stdout", "stderr", "exit_code", "signal", "duration", "duration_seconds"}
)


def find_row(raised: BaseException) -> type[Exception]:
    """The row for an exception: the nearest of its classes that the table names."""
    return next((row for row in type(_find_leaf(raised)).__mro__ if row in TABLE), Exception)


def _find_leaf(raised: BaseException) -> BaseException:
    while isinstance(raised, BaseExceptionGroup):
        raised = raised.exceptions[0]
    return raised


def fold_local(raised: BaseException) -> Fault:
    """What went wrong on our side of the wire."""
    leaf = _find_leaf(raised)
    if isinstance(leaf, Fault):
        return leaf
    row = find_row(leaf)
    if isinstance(leaf, MCPError) and leaf.code == REQUEST_TIMEOUT:
        row = TimeoutError
    hint = None
    if isinstance(leaf, FileNotFoundError | PermissionError):
        hint = f"check that {leaf.filename} exists and may be run"
    return Fault(
        TABLE[row],
        clean(f"{WHEN[row].split(':')[0]}: {type(leaf).__name__}: {leaf}", 500),
        hint=hint,
        layer="protocol" if row in {ValidationError, RuntimeError} else "transport",
    )


def fold_answer(exchange: Exchange) -> tuple[Fault | None, Reading]:
    """What the peer said, with what the SDK thought of it; the fault is None for a verdict."""
    reading = read(exchange.raw)
    fault = exchange.own_fault or find_stand_in(exchange)
    if fault is not None:
        return fault, reading
    if reading.fault is None:
        return (_fold_refused(exchange.raw, exchange.raised) if exchange.raised else None), reading
    reading.fault.layer = _find_layer(reading, exchange.raw)
    return reading.fault, reading


def fold_refusal(exchange: Exchange) -> Fault:
    """Why a request other than a tool's call has no result; a result is never read as a failure."""
    fault = exchange.own_fault or find_stand_in(exchange)
    if fault is not None:
        return fault
    reading = read(exchange.raw) if "error" in (exchange.raw or {}) else None
    if reading is None or reading.fault is None:
        return _fold_refused(exchange.raw, exchange.raised or ValueError("there is no result"))
    reading.fault.layer = _find_layer(reading, exchange.raw)
    if reading.fault.kind is FaultKind.TOOL_FAILED:  # no tool was called
        reading.fault.kind = FaultKind.UPSTREAM_ERROR
    return reading.fault


def _fold_refused(raw: dict[str, Any] | None, raised: BaseException) -> Fault:
    """The peer gave no error, yet the SDK would not have its answer."""
    result, leaf = (raw or {}).get("result"), _find_leaf(raised)
    if isinstance(leaf, Fault):  # from a callback in mcp_options
        return leaf
    if isinstance(result, dict) and result.get("resultType") == "input_required":
        return Fault(
            FaultKind.UNSUPPORTED,
            "the server asks for input that this client was given no way to provide",
            hint="pass on_elicitation, or sampling_callback in mcp_options",
            origin="peer",
            layer="protocol",
            outcome="unknown",  # a tool may ask in the middle of its work
        )
    why = str(leaf)
    if not isinstance(result, dict):
        why = "the result is not an object"
    elif isinstance(leaf, ValidationError):
        first = leaf.errors(include_url=False)[0]
        why = f"{'.'.join(str(step) for step in first['loc'])}: {first['msg']}"
    return fold_breach(why, result)


def fold_breach(why: str, answer: object) -> Fault:
    return Fault(
        FaultKind.UPSTREAM_ERROR,
        clean(f"the answer breaks the protocol: {why}", 500),
        hint="report it to the server's maintainers",
        details={"answer": make_portable(answer)},
        origin="peer",
        layer="protocol",
    )


def _find_layer(reading: Reading, raw: dict[str, Any] | None) -> Layer:
    if reading.certainty is Certainty.RECOGNISED:
        return "payload"
    error = (raw or {}).get("error")
    if error is None:
        return "tool"
    code = error.get("code") if isinstance(error, dict) else -32600
    is_refused = reading.fault is not None and reading.fault.kind in _REFUSALS
    return "protocol" if code in _TRANSPORT_CODES or is_refused else "tool"


def state_outcome(fault: Fault, tool: ListedTool, *, issued: bool) -> Fault:
    """Say what is known of the effect; a call that may have had one is `outcome_unknown`, unless harmless.

    The rule, as a table: docs/client.md.
    """
    if fault.outcome is None:
        fault.outcome = "unknown" if issued and not _shows_nothing_begun(fault, tool) else "not_done"
    if fault.outcome == "unknown" and tool.is_read_only and fault.kind is not FaultKind.OUTCOME_UNKNOWN:
        fault.outcome = "not_done"
    is_unknown = fault.outcome == "unknown" and fault.layer == "transport"
    if not is_unknown or tool.is_repeatable:
        return fault
    return fault.copy(
        kind=FaultKind.OUTCOME_UNKNOWN,
        message=f"{tool.name} may or may not have taken effect: {fault.message}",
        hint="find out whether it did before calling again",
        details={**fault.details, "cause": fault.kind.value},
        retry_after_seconds=None,
    )


def _shows_nothing_begun(fault: Fault, tool: ListedTool) -> bool:
    """Words prove nothing: `touch made; cat nope` says "no such file" too."""
    if fault.origin != "peer" or not _SIGNS_OF_A_RUN.isdisjoint(fault.details):
        return False
    if fault.kind is FaultKind.UNKNOWN_TOOL and not tool.is_listed:
        return True
    if fault.kind is FaultKind.UNAVAILABLE:  # who speaks our contract would say `outcome_unknown`
        return fault.kind_basis is KindBasis.DECLARED
    if fault.kind in _BEFORE_CALLING and fault.layer != "protocol":
        return False
    return fault.kind_basis is not KindBasis.PROSE and fault.kind in _BEFORE_ACTING | _BEFORE_CALLING
