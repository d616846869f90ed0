"""Everything the SDK can raise has a row, and whose fault it was is never guessed."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import anyio
import httpx2
import mcp.client
import mcp.shared
import pytest
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from pydantic import BaseModel, ValidationError

from faultless.client.folding import TABLE, WHEN, find_row, fold_answer, fold_local, state_outcome
from faultless.client.frames import Exchange
from faultless.client.http import HttpAnswer
from faultless.client.listing import ListedTool
from faultless.contract import Fault, FaultKind, KindBasis

# Not raised at a client: servers, authorisation dialogues and unfinished parts of the SDK raise these.
ELSEWHERE = ("mcp.client.auth", "mcp.shared.auth")


def modules(package: ModuleType) -> Iterator[ModuleType]:
    yield package
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.name.startswith(ELSEWHERE) and "main" not in found.name:
            try:
                yield importlib.import_module(found.name)
            except ImportError:  # parts for other systems, or with other extras
                continue


def exceptions(*packages: ModuleType) -> list[type[Exception]]:
    found = {
        kind
        for package in packages
        for module in modules(package)
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Exception)
        and not issubclass(kind, Warning)
        and kind.__module__.split(".")[0] in {"mcp", "mcp_types", "httpx2", "anyio"}
        and not kind.__module__.startswith(ELSEWHERE)
    }
    return sorted(found, key=lambda kind: f"{kind.__module__}.{kind.__qualname__}")


def make_bare(kind: type[Exception]) -> Exception:
    return kind.__new__(kind)


@pytest.mark.parametrize(
    "kind", exceptions(mcp.client, mcp.shared, httpx2), ids=lambda kind: kind.__qualname__
)
def test_the_table_names_every_exception_of_the_sdk_and_its_http_client(kind: type[Exception]) -> None:
    row = find_row(make_bare(kind))
    assert row is not Exception
    assert TABLE[row] in FaultKind


def test_an_exception_that_nobody_named_is_seen() -> None:
    assert find_row(KeyError("planted")) is Exception
    assert fold_local(KeyError("planted")).kind is FaultKind.INTERNAL


def test_the_table_and_its_text_agree() -> None:
    assert TABLE.keys() == WHEN.keys()
    assert len(TABLE) == 17


class _Model(BaseModel):
    number: int


def invalid() -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        _Model.model_validate({})
    return caught.value


FAMILIES: dict[str, tuple[Exception, FaultKind]] = {
    "MCPError": (MCPError(CONNECTION_CLOSED, "Connection closed"), FaultKind.UNAVAILABLE),
    "time-out of the SDK": (MCPError(REQUEST_TIMEOUT, "timed out"), FaultKind.TIMEOUT),
    "RuntimeError": (RuntimeError("unsupported version"), FaultKind.UPSTREAM_ERROR),
    "ValidationError": (invalid(), FaultKind.UPSTREAM_ERROR),
    "OSError": (FileNotFoundError(2, "No such file", "npx"), FaultKind.UNAVAILABLE),
    "ExceptionGroup": (
        ExceptionGroup("spawn", [ExceptionGroup("inner", [ConnectionRefusedError("no")])]),
        FaultKind.UNAVAILABLE,
    ),
    "stream": (anyio.BrokenResourceError(), FaultKind.UNAVAILABLE),
    "HTTP": (httpx2.ConnectError("refused"), FaultKind.UNAVAILABLE),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_each_family_folds_into_one_local_fault(name: str) -> None:
    raised, kind = FAMILIES[name]
    fault = fold_local(raised)
    assert (fault.kind, fault.origin) == (kind, "local")
    assert fault.layer in {"transport", "protocol"}


@pytest.mark.parametrize("code", [CONNECTION_CLOSED, REQUEST_TIMEOUT])
def test_a_peer_that_sends_the_codes_of_the_sdk_is_still_the_peer(code: int) -> None:
    error = {"code": code, "message": "Connection closed"}
    raised = MCPError(code, "Connection closed")
    fault, _ = fold_answer(Exchange("tools/call", issued=True, raw={"error": error}, raised=raised))
    assert fault is not None
    assert (fault.origin, fault.layer) == ("peer", "tool")


def test_a_frame_the_http_transport_made_up_is_not_the_peers_word() -> None:
    error = {"code": CONNECTION_CLOSED, "message": "SSE stream ended without a response"}
    made_up = Exchange("tools/call", issued=True, raw={"error": error}, http=HttpAnswer(200, None))
    fault, _ = fold_answer(made_up)
    assert fault is not None
    assert (fault.origin, fault.layer, fault.kind) == ("local", "transport", "unavailable")
    body = bytearray(
        b'data: {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"SSE stream ended without a response"}}\n'
    )
    said = Exchange("tools/call", issued=True, raw={"error": error}, http=HttpAnswer(200, None, body))
    fault, _ = fold_answer(said)
    assert fault is not None
    assert fault.origin == "peer"


READ = ListedTool("read", annotations={"readOnlyHint": True})
REPEAT = ListedTool("repeat", annotations={"idempotentHint": True})
WRITE = ListedTool("write")


@pytest.mark.parametrize(
    ("tool", "issued", "kind", "outcome"),
    [
        (READ, False, "crash", "not_done"),
        (READ, True, "crash", "not_done"),
        (REPEAT, False, "crash", "not_done"),
        (REPEAT, True, "crash", "unknown"),
        (WRITE, False, "crash", "not_done"),
        (WRITE, True, "outcome_unknown", "unknown"),
    ],
)
def test_a_call_that_may_have_had_its_effect_is_of_unknown_outcome(
    tool: ListedTool, issued: bool, kind: str, outcome: str
) -> None:
    fault = state_outcome(Fault(FaultKind.CRASH, "gone", layer="transport"), tool, issued=issued)
    assert (fault.kind, fault.outcome) == (kind, outcome)


@pytest.mark.parametrize("kind", FaultKind)
def test_what_a_peer_declared_keeps_its_kind(kind: FaultKind) -> None:
    fault = state_outcome(Fault(kind, "said", origin="peer", layer="tool"), WRITE, issued=True)
    assert fault.kind is kind
    assert fault.outcome in {"not_done", "unknown"}


BEFORE_ACTING = {
    *("invalid_params", "unknown_tool", "usage_error", "permission_denied", "approval_required"),
    *("auth_required", "not_found", "conflict", "rate_limited"),
}


@pytest.mark.parametrize("kind", FaultKind)
def test_the_effect_follows_from_a_kind_only_if_it_is_said_before_acting(kind: FaultKind) -> None:
    def state(tool: ListedTool = WRITE, **said: Any) -> str | None:  # noqa: ANN401 - the parameters of a fault
        fault = Fault(kind, "said", **{"origin": "peer", "layer": "tool", **said})
        return state_outcome(fault, tool, issued=True).outcome

    is_refused = kind in BEFORE_ACTING
    assert state(kind_basis=KindBasis.CODE) == ("not_done" if is_refused else "unknown")
    assert state() == ("not_done" if is_refused or kind == "unavailable" else "unknown")
    about_the_frame = is_refused or kind in {"parse_error", "unsupported"}
    assert state(layer="protocol", kind_basis=KindBasis.CODE) == (
        "not_done" if about_the_frame else "unknown"
    )
    for sign in ("output", "stderr", "exit_code"):
        assert state(details={sign: 1}) == "unknown"
    assert state(outcome="unknown") == "unknown"
    assert state(READ) == ("unknown" if kind == "outcome_unknown" else "not_done")
    assert state(READ, outcome="unknown") == state(READ)
