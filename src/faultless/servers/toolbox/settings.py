"""What the toolbox server was started with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from faultless.kit.command import option


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Folders are relative to the root, unless they are absolute."""

    root: Path
    folder: str | None = option(None, "The folder of tools.", is_positional=True, metavar="[DIR]")
    tools: str | None = option(
        None,
        "The folder of tools.",
        metavar="DIR",
        shown_default="MCBOX_CONFIG_HOME, or `tools` in the root",
    )
    timeout_seconds: float = option(
        60.0,
        "Seconds a call may run, for tools that name no time-out.",
        flag="--timeout",
        renamed_from=("--timeout-seconds",),
        metavar="SECONDS",
        more_than=0,
        at_most=86400,
    )
    concurrent: int = option(
        16, "Calls that run at once.", renamed_from=("--parallel",), metavar="N", at_least=1
    )
    waiting: int = option(256, "Calls that may wait.", metavar="N", at_least=0)
    output_bytes: int = option(
        100_000, "Kept of text that a tool prints, half from each end.", metavar="N", at_least=1000
    )
    env: tuple[str, ...] = option(
        (), "A variable every tool gets; its value is kept out of logs.", metavar="NAME"
    )
    env_file: str | None = option(
        None,
        "A .env file: every tool gets its variables, whose values are kept out of logs.",
        metavar="FILE",
    )
    only: tuple[str, ...] = option(
        (), "A tool to offer, or a pattern such as git_*; no others.", metavar="NAME"
    )
    group: tuple[str, ...] = option((), "A group of tools (`@group`) to offer; no others.", metavar="NAME")
    python: str | None = option(
        None,
        "The interpreter for Python functions.",
        metavar="PATH",
        shown_default="the folder's .venv, or the server's own",
    )
    sandbox: bool = option(False, "Run tools under bubblewrap.")
    writable: tuple[str, ...] = option((), "A folder that tools in the sandbox may write to.", metavar="DIR")
    socket: tuple[str, ...] = option(
        (),
        "A socket that tools in the sandbox may talk to; without one they may talk to none.",
        metavar="PATH",
    )
