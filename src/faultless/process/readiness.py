"""Waiting for a descriptor, at a fraction of what anyio takes for it.

`anyio.wait_readable` first goes once around the event loop, in every wait of every call. Only for asyncio,
and for one waiter at a time.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket


async def until_readable(source: int | socket.socket) -> None:
    loop, number = asyncio.get_running_loop(), _number(source)
    ready = loop.create_future()
    loop.add_reader(number, _tell, ready)
    try:
        await ready
    finally:
        loop.remove_reader(number)


async def until_writable(target: int | socket.socket) -> None:
    loop, number = asyncio.get_running_loop(), _number(target)
    ready = loop.create_future()
    loop.add_writer(number, _tell, ready)
    try:
        await ready
    finally:
        loop.remove_writer(number)


def _number(descriptor: int | socket.socket) -> int:
    """Asked once, for a socket that was closed meanwhile has no number any more."""
    return descriptor if isinstance(descriptor, int) else descriptor.fileno()


def _tell(ready: asyncio.Future[None]) -> None:
    if not ready.done():  # cancelled in the same turn of the loop
        ready.set_result(None)
