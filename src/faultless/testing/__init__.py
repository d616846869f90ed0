"""For people's own tests: clients in memory and on the wire, golden files, fixtures for pytest.

The fixtures are in `faultless.testing.fixtures`; nothing loads them but `pytest_plugins`.
"""

from faultless.testing.golden import golden
from faultless.testing.memory import async_memory_client, connect, memory_client
from faultless.testing.wire import DEADLINE_SECONDS, ERAS, INITIALIZE, MODERN_META, Era, WireClient

__all__ = [
    "DEADLINE_SECONDS",
    "ERAS",
    "INITIALIZE",
    "MODERN_META",
    "Era",
    "WireClient",
    "async_memory_client",
    "connect",
    "golden",
    "memory_client",
]
