"""A server as a real process on a project written for the test."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.shared.exceptions import MCPError

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
ServeEarly = Callable[..., tuple["MemoryServer", Path]]


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

    def let_begin(self) -> None:
        """Until the next run is held somewhere: the server's log has said so since its last answer."""
        calls = self.client.stderr().count('"tool":"execute_tests"')
        wait_until(lambda: self._has_begun(calls), 120.0)

    def _has_begun(self, calls: int) -> bool:
        lines = self.client.stderr().splitlines()
        answered = [number for number, line in enumerate(lines) if '"tool":"execute_tests"' in line]
        return len(answered) >= calls and any(HELD in line for line in lines[answered[-1] :])

    def list_runs(self) -> list[psutil.Process]:
        return _list_runs(self.client.process.pid)


def start_of(response: Answer) -> Answer:
    start: Answer = response["result"]["_meta"]["faultless/start"]
    return start


def begin_early(server: WireServer | MemoryServer, **arguments: object) -> None:
    """Call until the run of this selection had begun before, and the next one is held."""
    ends = time.monotonic() + 180.0
    way = ""
    while way != "early":
        assert time.monotonic() < ends
        way = start_of(server.call("execute_tests", arguments))["way"]
        server.let_begin()


HELD = "a run has begun early and is held"


class MemoryServer(Server):
    """The same toolset behind the same boundary, without a process of its own."""

    def __init__(self, project: Project, portal: BlockingPortal) -> None:
        self.toolset = make_toolset(project)
        self.portal = portal
        self._early = project.early_runs

    def let_begin(self) -> None:
        """Until the next runs are held somewhere."""
        wait_until(lambda: self.portal.call(self._have_begun), 120.0)

    def let_give_up(self) -> None:
        """Until no run is kept begun any more."""
        wait_until(
            lambda: all(each.keeping and each.keeping.done() for each in self._early._selections.values()),
            120.0,
        )

    async def _have_begun(self) -> bool:
        kept = [selection.current for selection in self._early._selections.values()]
        return all(early is not None and early.prepared_seconds is not None for early in kept)

    def list_runs(self) -> list[psutil.Process]:
        return _list_runs(os.getpid())

    def stop(self) -> None:
        """Give back the run that is held."""
        self.portal.call(self._stop)

    async def _stop(self) -> None:
        keeping = [each.keeping for each in self._early._selections.values() if each.keeping]
        for task in keeping:
            task.cancel()
        if keeping:
            await asyncio.wait(keeping)

    def call(self, tool: str, arguments: Mapping[str, object]) -> Answer:
        return self.portal.call(self._call, tool, arguments)

    async def _call(self, tool: str, arguments: Mapping[str, object]) -> Answer:
        async with connect(self.toolset) as client:
            try:
                result = await client.call_tool(tool, dict(arguments))
            except MCPError as refused:
                return {"error": refused.error.model_dump()}
        return {"result": result.model_dump(by_alias=True)}


def _list_runs(server: int) -> list[psutil.Process]:
    found = []
    for child in psutil.Process(server).children(recursive=True):
        try:
            if child.cmdline()[1:3] == ["-m", "pytest"]:
                found.append(child)
        except (psutil.Error, IndexError):
            continue
    return found


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
    return bool(error["data"].get("running"))


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
        return MemoryServer(Project(settings, Surroundings(LIGHT, None)), portal)

    return start


@pytest.fixture
def serve_early(
    write_project: WriteProject, portal: BlockingPortal, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ServeEarly]:
    """The same with runs that begin before they are asked."""
    monkeypatch.setenv("XDG_STATE_HOME", LIGHT["XDG_STATE_HOME"])
    servers: list[MemoryServer] = []

    def start(
        files: Mapping[str, str], *, idle_minutes: float = 10.0, no_early: bool = False, **env: str
    ) -> tuple[MemoryServer, Path]:
        root = write_project({"pytest.ini": "[pytest]", **files})
        settings = Settings(
            root=root, python=Path(sys.executable), idle_minutes=idle_minutes, no_early=no_early
        )
        servers.append(MemoryServer(Project(settings, Surroundings({**LIGHT, **env}, None)), portal))
        return servers[-1], root

    yield start
    for server in servers:
        server.stop()
