"""Fixtures for pytest: `pytest_plugins = ["faultless.testing.fixtures"]` in a conftest.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import pytest

from faultless.client import RetryPolicy, SyncClient
from faultless.contract import Json
from faultless.kit.toolset import Toolset
from faultless.testing.golden import golden
from faultless.testing.memory import memory_client

HoldGolden: TypeAlias = Callable[[str, Json], None]


@pytest.fixture
def toolset_client(toolset: Toolset) -> Iterator[SyncClient]:
    """A client in this process for the fixture `toolset`, which is yours to define."""
    with memory_client(toolset) as client:
        yield client


@pytest.fixture
def wire_client(server_command: Sequence[str]) -> Iterator[SyncClient]:
    """A client over the wire for the command in the fixture `server_command`, which is yours to define."""
    with SyncClient(list(server_command), retry=RetryPolicy(attempts=1)) as client:
        yield client


@pytest.fixture
def golden_answer(request: pytest.FixtureRequest) -> HoldGolden:
    """Holds an answer against `golden/NAME.json` beside the test; FAULTLESS_UPDATE_GOLDEN=1 writes it."""

    def hold(name: str, value: Json) -> None:
        golden(request.path.parent / "golden" / f"{name}.json", value)

    return hold
