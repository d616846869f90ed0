"""Starts the specimen server as a real process."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from faultless.testing import ERAS, WireClient
from tests.wire.specimen import StartServer, specimen_command


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    with ExitStack() as stack:

        def start(**options: object) -> WireClient:
            return stack.enter_context(WireClient(specimen_command(**options)))

        yield start


@pytest.fixture(scope="module")
def jsonrpc_server() -> Iterator[WireClient]:
    with WireClient(specimen_command(dialect="jsonrpc")) as client:
        yield client.open("handshake")


@pytest.fixture(scope="module", params=ERAS)
def era_server(request: pytest.FixtureRequest) -> Iterator[WireClient]:
    """One server for all tests of a module that leave it as it was, once in each era."""
    with WireClient(specimen_command()) as client:
        yield client.open(request.param)
