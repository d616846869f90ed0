"""Clients that many tests share: a hostile server restarts by itself, so one a session is enough."""

from collections.abc import Iterator

import pytest

from faultless.client import Breaker, RetryPolicy, SyncClient
from faultless.client.client import ClientOptions
from tests.client.hostile import command

MAX_FRAME_BYTES = 2_000_000


@pytest.fixture(scope="session", params=["handshake", "modern"])
def hostile(request: pytest.FixtureRequest) -> Iterator[SyncClient]:
    options: ClientOptions = {
        "timeout": 60.0,
        "probe_timeout": 0.5,
        "breaker": Breaker(limit=10**6),
        "retry": RetryPolicy(attempts=1),
        "max_frame_bytes": MAX_FRAME_BYTES,
    }
    with SyncClient(command(request.param), **options) as client:
        yield client


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
