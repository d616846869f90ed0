"""Servers in this process, ours and the SDK's own, and the client without async."""

from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from faultless.client import Client, RetryPolicy, SyncClient
from faultless.contract import Dialect, Fault, FaultKind
from faultless.kit.server import Boundary
from tests.client.hostile import command
from tests.wire.specimen import specimen

pytestmark = pytest.mark.anyio
MODES = ["legacy", "2026-07-28", "auto"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("kind", FaultKind)
async def test_a_fault_of_ours_arrives_as_it_was_raised(dialect: Dialect, kind: FaultKind, mode: str) -> None:
    async with Client(Boundary(specimen(dialect)).server, mode=mode, retry=RetryPolicy(attempts=1)) as client:
        with pytest.raises(Fault) as caught:
            await client.call("fail", {"kind": kind.value, "message": "it broke"}, timeout=60)
    fault = caught.value
    assert (fault.kind, fault.message, fault.hint, fault.retry_after_seconds) == (
        kind,
        "it broke",
        "do otherwise",
        1.5,
    )
    assert fault.origin == "peer"


@pytest.mark.parametrize("mode", MODES)
async def test_a_verdict_of_ours_comes_back_as_plain_data(mode: str) -> None:
    async with Client(Boundary(specimen(Dialect.JSONRPC)).server, mode=mode) as client:
        reply = await client.call("level", {"verbosity": 1, "names": ("a", "b")})
    assert (reply.value, reply.via, reply.certainty) == (
        {"verbosity": 1, "names": ["a", "b"]},
        "server",
        None,
    )


@pytest.mark.parametrize("mode", MODES)
async def test_the_sdks_own_server_is_served_too(mode: str) -> None:
    server = MCPServer("sums")

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool()
    def fail() -> Any:  # noqa: ANN401 - never returns
        raise FileNotFoundError("no such file: x")

    async with Client(server, mode=mode) as client:
        assert (await client.call("add", {"a": 1, "b": 2})).value == {"result": 3}
        with pytest.raises(Fault) as caught:
            await client.call("fail")
        assert (caught.value.origin, caught.value.layer) == ("peer", "tool")


async def test_a_client_is_used_once_at_a_time_and_may_be_used_again() -> None:
    client = Client(command())
    with pytest.raises(RuntimeError, match="async with"):
        await client.call("echo", {"text": "x"})
    for _ in range(2):
        async with client:
            with pytest.raises(RuntimeError, match="in use"):
                await client.__aenter__()
            assert (await client.call("echo", {"text": "x"})).text == "x"


def test_scripts_need_no_async() -> None:
    with SyncClient(command(), timeout=60) as client:
        assert client.call("echo", {"text": "x"}).value == {"text": "x"}
        assert "echo" in [tool.name for tool in client.tools()]
        with pytest.raises(Fault, match="no note"):
            client.call("error_with_code")
        assert client.call("killed", fallback=lambda _: "cached").via == "fallback"
    with pytest.raises(RuntimeError, match="inside `with`"):
        client.call("echo", {"text": "x"})
