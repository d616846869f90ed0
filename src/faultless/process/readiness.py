"""Waiting for a descriptor, at a fraction of what anyio takes for it.

`anyio.wait_readable` first goes once around the event loop, in every wait of every call.
One waiter at a time.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    import socket


async def until_readable(source: int | socket.socket) -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # not asyncio
        await anyio.wait_readable(source)
        return
    number = source if isinstance(source, int) else source.fileno()  # once closed it has none any more
    ready = loop.create_future()
    loop.add_reader(number, _tell, ready)
    try:
        await ready
    finally:
        loop.remove_reader(number)


async def until_writable(target: int | socket.socket) -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # not asyncio
        await anyio.wait_writable(target)
        return
    number = target if isinstance(target, int) else target.fileno()
    ready = loop.create_future()
    loop.add_writer(number, _tell, ready)
    try:
        await ready
    finally:
        loop.remove_writer(number)


def _tell(ready: asyncio.Future[None]) -> None:
    if not ready.done():  # cancelled in the same turn of the loop
        ready.set_result(None)
