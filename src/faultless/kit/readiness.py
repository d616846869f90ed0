"""Waiting for a descriptor, at a fraction of what anyio takes for it.

`anyio.wait_readable` first goes once around the event loop, in every wait of every call. Only for asyncio.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike


async def until_readable(source: FileDescriptorLike) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(source, _tell, ready)
    try:
        await ready
    finally:
        loop.remove_reader(source)


async def until_writable(target: FileDescriptorLike) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_writer(target, _tell, ready)
    try:
        await ready
    finally:
        loop.remove_writer(target)


def _tell(ready: asyncio.Future[None]) -> None:
    if not ready.done():  # cancelled in the same turn of the loop
        ready.set_result(None)
