"""A vault and a client in this process; every call goes through the boundary."""

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp import Client

from faultless.contract import Fault
from faultless.contract.reader import read
from faultless.servers.obsidian.settings import Settings
from faultless.servers.obsidian.toolset import offer
from faultless.servers.obsidian.vault import Vault
from faultless.testing import connect

EXAMPLE = Path(__file__).parents[3] / "examples" / "vault"


class Session:
    """`call` gives the verdict or raises the fault, as any client would read it."""

    def __init__(self, root: Path, *, watch: bool = True, **options: Any) -> None:  # noqa: ANN401 - fields of Settings
        self.root = root
        self.vault = Vault(Settings(root=root, **options), watch=watch)
        self.toolset = offer(self.vault)
        self._runner = asyncio.Runner()
        self._connected: asyncio.Task[None] | None = None

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever the wire may carry
        response = self._runner.run(self._request(tool, arguments))
        reading = read({"result": response})
        if reading.fault is not None:
            raise reading.fault
        verdict: dict[str, Any] = response["structuredContent"]
        return verdict

    async def _request(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if self._connected is None:
            opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
            self._connected = asyncio.create_task(self._stay_connected(opened))
            self._client = await opened
        result = await self._client.call_tool(tool, dict(arguments))
        dumped: dict[str, Any] = result.model_dump(mode="json", by_alias=True)
        return dumped

    async def _stay_connected(self, opened: asyncio.Future[Client]) -> None:
        """One connection for all calls, in a task of its own until the runner is closed."""
        async with connect(self.toolset) as client:
            opened.set_result(client)
            await asyncio.Event().wait()

    def fault(self, tool: str, **arguments: Any) -> Fault:  # noqa: ANN401 - as above
        try:
            answer = self.call(tool, **arguments)
        except Fault as fault:
            return fault
        raise AssertionError(f"{tool} gave a verdict: {answer}")

    def put(self, path: str, text: str | bytes) -> Path:
        """As another program would."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def close(self) -> None:
        self._runner.close()
        self.vault.close()


def copy_example(folder: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, folder / "vault"))


def snapshot(root: Path) -> dict[str, bytes]:
    """Every visible file."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    named = ((path.relative_to(root).as_posix(), path) for path in files)
    return {name: path.read_bytes() for name, path in named if not name.startswith(".") and "/." not in name}
