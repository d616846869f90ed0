"""The toolbox server: a folder of your own scripts becomes tools."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faultless.kit.toolset import Check, ServerKind, Toolset
from faultless.servers.toolbox.commands import check, new

if TYPE_CHECKING:
    from collections.abc import Sequence

if (
    importlib.util.find_spec("jsonschema_rs") is None
):  # found out now, because everything else is imported later
    raise ImportError("jsonschema-rs is not installed", name="jsonschema_rs")


def _build(root: Path, options: dict[str, Any]) -> Toolset:
    from faultless import process  # noqa: PLC0415 - --help must be fast
    from faultless.servers.toolbox.toolset import build  # noqa: PLC0415 - as above

    process.get_ready()
    return build(root, options)


def _diagnose(root: Path) -> list[Check]:
    from faultless.servers.toolbox.diagnosis import diagnose  # noqa: PLC0415 - as above

    return diagnose(root)


def options() -> Sequence[click.Option]:
    return [
        click.Option(
            ["--tools"],
            metavar="DIR",
            help="The folder of tools; default: MCBOX_CONFIG_HOME, or `tools` in the root.",
        ),
        click.Option(
            ["--timeout-seconds"],
            type=click.FloatRange(min=0, min_open=True, max=86400),
            metavar="S",
            help="For tools that name none (60).",
        ),
        click.Option(["--parallel"], type=click.IntRange(min=1), metavar="N", help="Calls at once (16)."),
        click.Option(
            ["--waiting"], type=click.IntRange(min=0), metavar="N", help="Calls that may wait (256)."
        ),
        click.Option(
            ["--output-bytes"],
            type=click.IntRange(min=1000),
            metavar="N",
            help="Kept of text that a tool prints, half from each end (100000).",
        ),
        click.Option(
            ["--env"],
            multiple=True,
            metavar="NAME",
            help="A variable every tool gets; its value is kept out of logs.",
        ),
        click.Option(["--python"], metavar="PATH", help="The interpreter for Python functions."),
        click.Option(["--sandbox"], is_flag=True, default=None, help="Run tools under bubblewrap."),
        click.Option(
            ["--writable"],
            multiple=True,
            metavar="DIR",
            help="A folder that tools in the sandbox may write to.",
        ),
    ]


server = ServerKind(
    name="toolbox",
    summary="Serve a folder of scripts, Python functions, commands and mcbox tools.",
    build=_build,
    options=options(),
    arguments=[click.Argument(["folder"], required=False, metavar="[DIR]")],
    commands=[check, new],
    diagnose=_diagnose,
)
