"""Tools that misbehave, as functions of a fastmcp server: the bad inputs that can be put to it."""

import ctypes
import ipaddress
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Annotated, Any, Literal

from fastmcp import FastMCP
from pydantic import BaseModel, Field

server = FastMCP("cases")


class Nested(BaseModel):
    deep: Literal[3]


@server.tool
def typed(  # noqa: PLR0917 - the parameters of the specimen
    path: Annotated[str, Field(min_length=1)],
    limit: int = 10,
    mode: Literal["fast", "slow"] = "fast",
    tags: list[str] | None = None,
    note: str | None = None,
    ratio: float = 0.5,
) -> str:
    """Take every type of parameter."""
    return f"{path} {limit} {mode} {tags} {note} {ratio}"


@server.tool
def strict(
    port: Annotated[int, Field(ge=1, le=65535)],
    hosts: list[ipaddress.IPv4Address] | None = None,
    nested: Nested | None = None,
) -> str:
    """Take what a schema allows."""
    return f"{port} {hosts} {nested}"


@server.tool
def py_typed(count: int, mode: Literal["a", "b"] = "a", where: Path | None = None) -> str:
    """Take typed values."""
    return f"{count} {mode} {where}"


@server.tool
def fail() -> str:
    """Run a command that fails."""
    return subprocess.run(["sh", "-c", "exit 3"], capture_output=True, text=True, check=True).stdout


@server.tool
def die() -> str:
    """Run a command that a signal ends."""
    return subprocess.run(["sh", "-c", "kill -SEGV $$"], capture_output=True, text=True, check=True).stdout


@server.tool(timeout=0.5)
def hang() -> str:
    """Run a command that hangs."""
    return subprocess.run(["sleep", "100"], capture_output=True, text=True, check=True).stdout


@server.tool
def py_raise(text: str) -> str:
    """Raise an exception."""
    raise ValueError(f"no {text}")


@server.tool
def py_exit() -> str:
    """Leave by SystemExit."""
    sys.exit(4)


@server.tool
def py_quit() -> str:
    """Leave without a word."""
    os._exit(5)


@server.tool
def py_crash() -> str:
    """Follow a null pointer."""
    ctypes.string_at(0)
    return "never"


@server.tool(timeout=0.5)
def py_hang() -> str:
    """Hang."""
    threading.Event().wait()
    return "never"


@server.tool
def py_wrong() -> int:
    """Promise a number, return text."""
    return "text"  # type: ignore[return-value]  # the fault that is planted


@server.tool
def py_cycle() -> Any:
    """Return what JSON cannot hold."""
    loop: list[Any] = []
    loop.append(loop)
    return loop


@server.tool
def py_nan() -> float:
    """Return what JSON cannot say."""
    return float("nan")


if __name__ == "__main__":
    server.run(show_banner=False, log_level="CRITICAL")
