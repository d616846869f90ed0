"""A server as a real process on a project written for the test."""

from __future__ import annotations

import os
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.shared.exceptions import MCPError

from faultless.kit.toolset import Toolset
from faultless.servers.pytest.execution import Project
from faultless.servers.pytest.interpreter import Surroundings
from faultless.servers.pytest.settings import Settings
from faultless.servers.pytest.toolset import make_toolset
from faultless.testing import WireClient, connect
from tests.waiting import wait_until

EXAMPLES = Path(__file__).parents[3] / "examples"
# The plugins of the development environment take a second to load; tests that need one name it.
LIGHT = {
    **os.environ,
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "XDG_STATE_HOME": str(Path(tempfile.gettempdir()) / "faultless-tests-state"),
}

Answer = dict[str, Any]
WriteProject = Callable[[Mapping[str, str]], Path]
StartServer = Callable[..., "WireServer"]


class Server:
    """Calls tools and gives back the verdict or the error, whichever was expected."""

    def call(self, tool: str, arguments: Mapping[str, object]) -> Answer:
        """The whole response."""
        raise NotImplementedError

    def run(self, **arguments: object) -> Answer:
        return self.expect_verdict("execute_tests", arguments)

    def discover(self, **arguments: object) -> Answer:
        return self.expect_verdict("discover_tests", arguments)

    def expect_verdict(self, tool: str, arguments: Mapping[str, object]) -> Answer:
        response = self.call(tool, arguments)
        assert "result" in response, response
        assert response["result"]["isError"] is False
        answer: Answer = response["result"]["structuredContent"]
        return answer

    def fail(self, tool: str = "execute_tests", **arguments: object) -> Answer:
        response = self.call(tool, arguments)
        assert "error" in response, response
        error: Answer = response["error"]
        return error


class WireServer(Server):
    """A real process."""

    def __init__(self, client: WireClient) -> None:
        self.client = client

    def call(self, tool: str, arguments: Mapping[str, object]) -> Answer:
        return self.client.call(tool, arguments)


def start_of(response: Answer) -> Answer:
    start: Answer = response["result"]["_meta"]["faultless/start"]
    return start


def begin_early(server: WireServer, **arguments: object) -> None:
    """Call until the run of this selection had begun before."""
    ends = time.monotonic() + server.client.deadline_seconds
    while start_of(server.call("execute_tests", arguments))["way"] != "early":
        assert time.monotonic() < ends, server.client.stderr()
        let_begin(server)


HELD = "a run has begun early and is held"


def let_begin(server: WireServer, seconds: float = 120.0) -> None:
    """Until the next run is held somewhere."""
    calls = server.client.stderr().count('"tool":"execute_tests"')
    wait_until(lambda: _is_held(server, calls), seconds)


def _is_held(server: WireServer, calls: int) -> bool:
    """The server's log has said so since its last answer."""
    lines = server.client.stderr().splitlines()
    answered = [number for number, line in enumerate(lines) if '"tool":"execute_tests"' in line]
    return len(answered) >= calls and any(HELD in line for line in lines[answered[-1] :])


class MemoryServer(Server):
    """The same toolset behind the same boundary, without a process of its own."""

    def __init__(self, toolset: Toolset, portal: BlockingPortal) -> None:
        self.toolset = toolset
        self.portal = portal

    def call(self, tool: str, arguments: Mapping[str, object]) -> Answer:
        return self.portal.call(self._call, tool, arguments)

    async def _call(self, tool: str, arguments: Mapping[str, object]) -> Answer:
        async with connect(self.toolset) as client:
            try:
                result = await client.call_tool(tool, dict(arguments))
            except MCPError as refused:
                return {"error": refused.error.model_dump()}
        return {"result": result.model_dump(by_alias=True)}


def run_into_deadline(server: Server, reached: Callable[[Answer], bool], **arguments: object) -> Answer:
    """A time-out in the middle of a test, however long this machine takes to get that far."""
    error: Answer = {}
    for seconds in (3, 10, 40):
        error = server.fail("execute_tests", timeout=seconds, **arguments)
        assert error["message"].startswith(f"pytest execution exceeded timeout of {seconds} seconds")
        if reached(error):
            return error
    raise AssertionError(f"never got that far: {error}")


def is_running_a_test(error: Answer) -> bool:
    return bool(error["data"]["running"])


def serving_command(
    root: Path,
    *options: str,
    python: str = sys.executable,
    timeout: int = 300,
    max_timeout: int = 3600,
) -> list[str]:
    limits = [f"--timeout={timeout}", f"--max-timeout={max_timeout}"]
    options = (f"--root={root}", f"--python={python}", *limits, *options)
    return [sys.executable, "-P", "-m", "faultless", "serve", "pytest", *options]


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    with ExitStack() as stack:

        def start(root: Path, env: Mapping[str, str] = LIGHT, **options: str | int) -> WireServer:
            command = serving_command(root, **options)  # type: ignore[arg-type]  # each by its name
            client = stack.enter_context(WireClient(command, env=env))
            return WireServer(client.open("handshake"))

        yield start


@pytest.fixture
def write_project(tmp_path: Path) -> WriteProject:
    def write(files: Mapping[str, str]) -> Path:
        root = tmp_path / "project"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        return root

    return write


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as opened:
        yield opened


@pytest.fixture
def serve(
    write_project: WriteProject, portal: BlockingPortal, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Server]:
    """A server in memory on a project of these files."""
    monkeypatch.setenv("XDG_STATE_HOME", LIGHT["XDG_STATE_HOME"])

    def start(files: Mapping[str, str], python: Path | None = Path(sys.executable)) -> Server:
        settings = Settings(root=write_project(files), python=python, no_early=True)
        return MemoryServer(make_toolset(Project(settings, Surroundings(LIGHT, None))), portal)

    return start
