"""The client for scripts: the same calls, without async."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from anyio.from_thread import start_blocking_portal

from faultless.client.client import Client

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from anyio.from_thread import BlockingPortal

    from faultless.client.address import Address
    from faultless.client.fallback import Fallback, Run
    from faultless.client.listing import ListedTool
    from faultless.client.reply import Reply


class SyncClient:
    """Takes what `Client` takes; the session runs in a thread of its own."""

    def __init__(self, server: Address, **options: Any) -> None:  # noqa: ANN401 - those of Client, checked there
        self._client = Client(server, **options)
        self._open = ExitStack()
        self._portal: BlockingPortal | None = None

    def __enter__(self) -> Self:
        with ExitStack() as entering:
            self._portal = entering.enter_context(start_blocking_portal())
            entering.enter_context(self._portal.wrap_async_context_manager(self._client))
            self._open = entering.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal = None
        self._open.__exit__(kind, error, trace)

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        fallback: Fallback | Run | None = None,
        raise_suspected: bool | None = None,
    ) -> Reply:
        async def call() -> Reply:
            return await self._client.call(
                tool, arguments, timeout=timeout, fallback=fallback, raise_suspected=raise_suspected
            )

        return self._use_portal().call(call)

    def tools(self) -> list[ListedTool]:
        return self._use_portal().call(self._client.tools)

    def _use_portal(self) -> BlockingPortal:
        if self._portal is None:
            raise RuntimeError("use the client inside `with`")
        return self._portal
