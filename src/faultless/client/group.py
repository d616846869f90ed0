"""Several servers as one: their tools under one roof, each with its server's name in front."""

from __future__ import annotations

import difflib
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import anyio

from faultless.client.listing import check_text
from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from types import TracebackType
    from typing import Unpack

    from faultless.client.calling import Reply
    from faultless.client.client import CallOptions, Client
    from faultless.client.listing import ListedTool
    from faultless.client.offers import Prompt, Resource

T = TypeVar("T")
N = TypeVar("N", "ListedTool", "Prompt")
_SEPARATOR = "__"


class ClientGroup:
    """Clients by name. A tool is called as `server__tool`; so is a prompt."""

    def __init__(self, clients: Mapping[str, Client], faults: Mapping[str, Fault] | None = None) -> None:
        self.clients = dict(clients)
        self._broken = dict(faults or {})
        """Servers that can never be asked."""
        self.faults = dict(self._broken)
        """Which servers the last listing is without, wholly or in part, and why."""
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as entering:
            for client in self.clients.values():
                await entering.enter_async_context(client)
            self._open = entering.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.__aexit__(kind, error, trace)

    async def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]
    ) -> Reply:
        """As `Client.call`, on the server that the name begins with."""
        client, name = self._find(tool, "tool")
        return await client.call(name, arguments, **options)

    async def tools(self) -> list[ListedTool]:
        """Those of all servers, asked at once under one deadline; `faults` names those that failed."""
        found = await self._ask_all(lambda client: client.tools())
        return [replace(tool, name=name) for name, tool in self._name_all(found)]

    async def resources(self) -> dict[str, list[Resource]]:
        return dict(await self._ask_all(lambda client: client.resources()))

    async def prompts(self) -> list[Prompt]:
        found = await self._ask_all(lambda client: client.prompts())
        return [replace(prompt, name=name) for name, prompt in self._name_all(found)]

    async def get_prompt(self, prompt: str, arguments: Mapping[str, str] | None = None) -> Reply:
        client, name = self._find(prompt, "prompt")
        return await client.get_prompt(name, arguments)

    async def read_resource(self, server: str, uri: str) -> Reply:
        if server in self._broken:
            raise self._broken[server].copy()
        if server not in self.clients:
            raise self._refuse(server, "server", list(self.clients))
        return await self.clients[server].read_resource(uri)

    async def _ask_all(self, ask: Callable[[Client], Awaitable[T]]) -> list[tuple[str, T]]:
        answers: dict[str, T] = {}
        faults: dict[str, Fault] = {}

        async def ask_one(server: str, client: Client) -> None:
            try:
                answers[server] = await ask(client)
            except Fault as fault:
                faults[server] = fault

        async with anyio.create_task_group() as tasks:
            for server, client in self.clients.items():
                tasks.start_soon(ask_one, server, client)
        self.faults = {**self._broken, **faults}
        if faults and not answers:
            raise next(iter(faults.values()))
        return [(server, answers[server]) for server in self.clients if server in answers]

    def _name_all(self, found: list[tuple[str, list[N]]]) -> Iterator[tuple[str, N]]:
        """Each with the name it is called by; what another server's name would hide is left out, and told."""
        for server, offers in found:
            for offer in offers:
                name = f"{server}{_SEPARATOR}{offer.name}"
                if (hidden_by := self._find_server(name)) == server:
                    yield name, offer
                else:
                    self.faults[server] = Fault(
                        FaultKind.CONFLICT,
                        f"{offer.name} of {server} would be called {name}, which leads to {hidden_by}",
                        hint="give one of the two servers another name",
                        layer="protocol",
                        outcome="not_done",
                    )

    def _find(self, name: str, what: str) -> tuple[Client, str]:
        check_text(f"the name of a {what}", name)
        server = self._find_server(name)
        if server in self._broken:
            raise self._broken[server].copy()
        if server is None:
            raise self._refuse(name, what, [f"{server}{_SEPARATOR}…" for server in self.clients])
        return self.clients[server], name[len(server) + len(_SEPARATOR) :]

    def _find_server(self, name: str) -> str | None:
        """The longest server name that fits: one may begin like another."""
        servers = (*self.clients, *self._broken)
        fitting = [server for server in servers if name.startswith(f"{server}{_SEPARATOR}")]
        return max(fitting, key=len, default=None)

    def _refuse(self, name: str, what: str, candidates: list[str]) -> Fault:
        near = difflib.get_close_matches(name, candidates, cutoff=0.3) or candidates
        return Fault(
            FaultKind.UNKNOWN_TOOL if what == "tool" else FaultKind.NOT_FOUND,
            f"no server of this group has a {what} named {name}",
            hint=f"names begin with their server's: {', '.join(near)}",
            layer="protocol",
            outcome="not_done",
        )
