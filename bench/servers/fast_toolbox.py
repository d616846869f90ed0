"""The same tools as functions of a fastmcp server, the way its users write them."""

import json
import os
import subprocess
from pathlib import Path

from fastmcp import FastMCP

TOOLS = Path(__file__).parent.parent / "toolbox_tools"
server = FastMCP("toolbox")


def run(name: str, given: str = "", **variables: str) -> str:
    command = [str(TOOLS / name)]
    return subprocess.run(
        command, env=variables, input=given, capture_output=True, text=True, check=True, timeout=60
    ).stdout


@server.tool
def py_hello(who: str) -> str:
    """Say hello."""
    return f"hello {who}"


@server.tool
def sh_hello(who: str) -> str:
    """Say hello from a script."""
    return run("sh_hello", ARG_WHO=who)


@server.tool
def sh_count(who: str) -> str:
    """Count the letters of a name, in a script that calls a program."""
    return run("sh_count", ARG_WHO=who, PATH=os.environ["PATH"])


@server.tool
def script_hello(who: str) -> str:
    """Say hello from a Python script."""
    return run("script_hello", ARG_WHO=who, PATH=os.environ["PATH"])


@server.tool
def nap() -> str:
    """Sleep for 200 ms."""
    return run("nap", PATH="/usr/bin:/bin")


@server.tool
def size(text: str) -> str:
    """Count the bytes of the arguments."""
    return run("size", given=json.dumps({"text": text}), PATH="/usr/bin:/bin")


@server.tool
def stuck() -> str:
    """Time-out after a second, as subprocess offers it."""
    command = [str(TOOLS / "stuck")]
    env = {"PATH": "/usr/bin:/bin"}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=1).stdout


if __name__ == "__main__":
    server.run(show_banner=False, log_level="ERROR")
