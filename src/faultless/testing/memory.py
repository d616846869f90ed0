"""A toolset and its client in one process."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from faultless.client import Client, RetryPolicy, SyncClient
from faultless.kit.server import Boundary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import mcp

    from faultless.kit.server import Faults
    from faultless.kit.toolset import Toolset
    from faultless.testing.wire import Era


@asynccontextmanager
async def connect(
    toolset: Toolset, era: Era = "handshake", *, faults: Faults = "native", debug: bool = False
) -> AsyncIterator[mcp.Client]:
    """An `mcp.Client`, which shows everything as it came."""
    import mcp  # noqa: PLC0415 - loads slowly, and most tests want a verdict or a fault

    mode = "legacy" if era == "handshake" else "2026-07-28"
    async with mcp.Client(Boundary(toolset, faults=faults, debug=debug).server, mode=mode) as client:
        yield client


def memory_client(toolset: Toolset) -> SyncClient:
    """A client for tests without `async`: `call` gives a verdict or raises a Fault, at once."""
    return SyncClient(Boundary(toolset).server, retry=RetryPolicy(attempts=1))


def async_memory_client(toolset: Toolset) -> Client:
    """The same for tests with `async`."""
    return Client(Boundary(toolset).server, retry=RetryPolicy(attempts=1))
