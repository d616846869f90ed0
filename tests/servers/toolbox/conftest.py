"""Starts toolbox servers as real processes."""

import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError
from pydantic import TypeAdapter

from faultless.kit.server import Faults
from faultless.servers.toolbox.settings import Settings
from faultless.servers.toolbox.toolset import build_toolset
from faultless.testing import DEADLINE_SECONDS, Era, WireClient, connect

HERE = Path(__file__).parent
SPECIMEN = HERE / "specimen"
TOKEN = "hunter2-and-some-more"
_MCBOX = ("MCBOX_CONFIG_HOME", "MCBOX_LOG_LEVEL", "FAULTLESS_LOG_LEVEL", "OTEL_LOG_LEVEL")

Serve = Callable[..., WireClient]


def serve_command(folder: Path, root: Path, *options: str) -> list[str]:
    return [
        sys.executable,
        "-P",
        "-m",
        "faultless",
        "serve",
        "toolbox",
        str(folder),
        "--root",
        str(root),
        *options,
    ]


def environment(**extra: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _MCBOX}
    return kept | {"SPECIMEN_TOKEN": TOKEN} | extra


_RAW = TypeAdapter(dict[str, Any])


class Memory:
    """The server without a process of its own, for what needs no wire; answers are whole responses."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        params = types.CallToolRequestParams(name=tool, arguments=arguments or {})
        try:
            request = types.CallToolRequest(params=params)
            return {"result": await self._client.session.send_request(request, _RAW)}
        except MCPError as error:
            return {"error": error.error.model_dump(mode="json", exclude_none=True)}

    async def say(self, tool: str, arguments: dict[str, Any] | None = None) -> str:
        text: str = (await self.call(tool, arguments))["result"]["content"][0]["text"]
        return text

    async def tools(self) -> list[types.Tool]:
        return (await self._client.list_tools()).tools

    async def names(self) -> list[str]:
        return [tool.name for tool in await self.tools()]

    @property
    def introduction(self) -> tuple[str, str, str | None]:
        server = self._client.server_info
        assert server is not None
        return server.name, server.version, self._client.instructions


@asynccontextmanager
async def in_memory(
    folder: Path | None,
    root: Path,
    era: Era = "handshake",
    *,
    faults: Faults = "native",
    **options: Any,  # noqa: ANN401 - the fields of Settings
) -> AsyncIterator[Memory]:
    named = None if folder is None else str(folder)
    toolset = build_toolset(Settings(root=root, folder=named, **options))
    with anyio.fail_after(DEADLINE_SECONDS):
        async with connect(toolset, era, faults=faults) as client:
            yield Memory(client)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(folder: Path, root: Path, *options: str, **extra: str) -> WireClient:
            return stack.enter_context(
                WireClient(serve_command(folder, root, *options), cwd=root, env=environment(**extra))
            )

        yield start


@pytest.fixture(scope="session")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder the tools of the specimen work in."""
    root = tmp_path_factory.mktemp("workplace")
    (root / "notes.txt").write_text("one\ntwo\n")
    (root / "imported-although-it-is-a-script").touch()
    return root


def copy_specimen(target: Path) -> Path:
    """The tools are kept under names that neither linters nor type checkers take for Python."""
    shutil.copytree(SPECIMEN, target)
    for path in target.glob("*.specimen"):
        path.rename(path.with_suffix(""))
    return target


@pytest.fixture(scope="session")
def specimen_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_specimen(tmp_path_factory.mktemp("toolbox") / "specimen")


@pytest.fixture(scope="session")
def specimen(specimen_folder: Path, workplace: Path) -> Iterator[WireClient]:
    """One server for every test that leaves it as it was; whatever a tool does to itself is its own affair."""
    command = serve_command(specimen_folder, workplace)
    with WireClient(command, cwd=workplace, env=environment(), deadline_seconds=180) as client:
        yield client.open("handshake")
