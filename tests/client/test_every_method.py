"""Every public method gives a value or a Fault, whatever the server is; and every option has one type."""

import dataclasses
import inspect
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import faultless
from faultless import Client, Fault, FaultKind, RetryPolicy, SyncClient
from faultless.client.client import CallOptions, ClientOptions
from tests.client.hostile import command

pytestmark = pytest.mark.anyio
ONCE = RetryPolicy(attempts=1)


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/mcp"


ADDRESSES: dict[str, Callable[[], Any]] = {
    "no program": lambda: ["no-such-program-anywhere"],
    "no command": lambda: ["\0"],
    "a folder": lambda: ["/"],
    "dies": lambda: command(start="dies"),
    "silent": lambda: command(start="silence"),
    "noisy": lambda: command(start="noisy"),
    "an old version": lambda: command("handshake", start="old_version"),
    "refuses": lambda: command("handshake", start="refuses"),
    "nobody listens": closed_port,
    "no URL": lambda: "not a url",
}
METHODS: dict[str, Callable[[Client], Awaitable[object]]] = {
    "call": lambda client: client.call("echo", {"text": "x"}),
    "tools": lambda client: client.tools(),
    "resources": lambda client: client.resources(),
    "read_resource": lambda client: client.read_resource("a://b"),
    "prompts": lambda client: client.prompts(),
    "get_prompt": lambda client: client.get_prompt("a"),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("address", ADDRESSES)
async def test_a_server_that_cannot_be_reached_is_a_fault_of_every_method(address: str, method: str) -> None:
    options: ClientOptions = {"timeout": 1.0, "retry": ONCE, "grace_seconds": 0.1}
    async with Client(ADDRESSES[address](), **options) as client:
        with pytest.raises(Fault) as caught:
            await METHODS[method](client)
    assert caught.value.outcome == "not_done"


@pytest.mark.parametrize("method", METHODS)
async def test_a_server_that_dies_under_a_method_is_a_fault_or_is_started_again(method: str) -> None:
    async with Client(command(), timeout=60) as client:
        for _ in range(3):
            with pytest.raises(Fault):
                await client.call("killed", retry=ONCE)
            try:
                await METHODS[method](client)
            except Fault as fault:
                assert fault.outcome == "not_done"  # noqa: PT017 - a value will do too


@pytest.mark.parametrize("era", ["handshake", "both"])
@pytest.mark.parametrize(
    ("start", "kind"), [("null", "upstream_error"), ("text", "upstream_error"), ("huge", "too_large")]
)
async def test_a_session_that_begins_with_nonsense_is_told_from_one_that_ended(
    era: str, start: str, kind: str
) -> None:
    options: ClientOptions = {"retry": ONCE, "max_frame_bytes": 2_000_000, "mode": "legacy"}
    if era == "both":
        options["mode"] = "auto"
    async with Client(command("handshake", start=start), **options) as client:
        with pytest.raises(Fault) as caught:
            await client.call("echo", {"text": "x"})
    fault = caught.value
    assert (fault.kind, fault.layer, fault.outcome) == (kind, "protocol", "not_done")


MISTAKES: dict[str, Callable[[Client], Awaitable[object]]] = {
    "no name": lambda client: client.call(None),  # type: ignore[arg-type]  # that is the mistake, here and below
    "half a character": lambda client: client.call("\ud800"),
    "half a character inside": lambda client: client.call("false_success", {"a": "\ud800"}),
    "a list of arguments": lambda client: client.call("false_success", [1]),  # type: ignore[arg-type]
    "not a number": lambda client: client.call("false_success", {"a": float("nan")}),
    "infinity": lambda client: client.call("false_success", {"a": [float("inf")]}),
    "a number for an address": lambda client: client.read_resource(5),  # type: ignore[arg-type]
    "half an address": lambda client: client.read_resource("a://\udfff"),
    "no prompt": lambda client: client.get_prompt(None),  # type: ignore[arg-type]
    "a number for a prompt": lambda client: client.get_prompt("p", {"a": 5}),  # type: ignore[dict-item]
    "text for a prompt": lambda client: client.get_prompt("p", "a"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("mistake", MISTAKES)
async def test_what_the_caller_got_wrong_is_never_called_the_peers_fault(mistake: str) -> None:
    async with Client(["no-such-program-anywhere"], retry=ONCE) as client:
        with pytest.raises(Fault) as caught:
            await MISTAKES[mistake](client)
    fault = caught.value
    assert (fault.kind, fault.origin, fault.outcome) == ("invalid_params", "local", "not_done")


def test_the_client_without_async_has_the_same_methods_and_options() -> None:
    options = {field.name for field in dataclasses.fields(Client)} - {"server", "_"}
    assert set(ClientOptions.__annotations__) == options
    parameters = set(inspect.signature(Client.call).parameters) - {"self", "tool", "arguments"}
    assert set(CallOptions.__annotations__) == parameters
    assert all(hasattr(SyncClient, name) for name in METHODS)


async def test_the_client_without_async_gives_values_and_faults_too() -> None:
    with SyncClient(command(), timeout=60.0) as client:
        assert client.call("echo", {"text": "x"}, retry=ONCE).value == {"text": "x"}
        assert client.resources() == []
        assert client.prompts() == []
        with pytest.raises(Fault):
            client.read_resource("a://b")
        with pytest.raises(Fault):
            client.get_prompt("a")


async def test_a_call_may_have_a_retry_policy_of_its_own() -> None:
    async with Client(command(), retry=RetryPolicy(attempts=3, first_wait_seconds=0.01)) as client:
        with pytest.raises(Fault) as caught:
            await client.call("fails_thrice", {"path": "/dev/null"}, retry=ONCE)
        assert caught.value.message == "slow down 0"
        assert caught.value.kind == "rate_limited"


def test_the_words_of_a_fault_begin_with_its_kind() -> None:
    assert str(Fault(FaultKind.TIMEOUT, "too slow")) == "timeout: too slow"


def test_what_a_caller_needs_is_in_the_front_room() -> None:
    for name in ("Reply", "RetryPolicy", "Fallback", "Journal", "Resource", "Prompt"):
        assert name in faultless.__all__
        assert getattr(faultless, name).__module__.startswith("faultless.client")
