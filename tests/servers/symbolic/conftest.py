"""One real symbolic server for the tests that leave it as it was."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from faultless.contract import read
from faultless.testing import WireClient

COMMAND = [sys.executable, "-P", "-m", "faultless", "serve", "symbolic"]
Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def symbolic_server() -> Iterator[WireClient]:
    with WireClient(COMMAND) as client:
        yield client.open("handshake")


@pytest.fixture
def ask(symbolic_server: WireClient) -> Ask:
    """Call a tool; the whole answer as an object, verdict or fault."""

    def call(tool: str, **arguments: object) -> dict[str, Any]:
        response = symbolic_server.call(tool, arguments)
        assert "result" in response, response
        answer = read(response).payload
        assert answer is not None
        return answer

    return call
