"""A deadline that ends in a fault of its own."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio

from faultless.contract import Fault, FaultKind

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError:
        raise Fault(
            FaultKind.TIMEOUT,
            f"{what} took longer than {seconds:g} s",
            hint="try again, or ask for less; the server's --timeout sets the limit",
            details={"timeout_seconds": seconds},
        ) from None
