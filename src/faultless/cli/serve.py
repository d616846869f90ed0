"""`faultless serve NAME`: one server on stdin and stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from faultless.cli.options import ByServer, ServerCommand, serving_options, settings_arguments
from faultless.contract import Fault
from faultless.kit import log
from faultless.kit.root import Root

if TYPE_CHECKING:
    from faultless.kit.command import ServerKind
    from faultless.kit.toolset import Toolset

HELP = """\
Serve NAME on standard input and output, for an MCP client.

\b
  faultless serve pytest --root ~/project
  faultless serve mypackage.tools:toolset

Logs go to standard error; FAULTLESS_LOG_LEVEL is one of TRACE, DEBUG, INFO, WARN, ERROR, FATAL. The server
ends when its input does, or on SIGTERM or SIGINT.
"""


def make(name: str, kind: ServerKind) -> click.Command:
    def serve(**values: Any) -> int:  # noqa: ANN401 - the options of a server known only now
        log.configure()
        shared = {key: values.pop(key) for key in ("faults", "debug", "max_frame_bytes")}
        try:
            toolset = _build(kind, values.pop("root"), values)
        except Fault as fault:
            log.fatal(fault.message, server=name, kind=fault.kind, hint=fault.hint)
            return 2
        from faultless.kit import stdio  # noqa: PLC0415 - the SDK takes long; what the toolset started does too

        stdio.serve(toolset, **shared)
        return 0

    return ServerCommand(
        name,
        kind,
        params=[*serving_options(kind), *settings_arguments(kind)],
        callback=serve,
        help=kind.summary or f"Serve {name}.",
    )


def _build(kind: ServerKind, folder: str, options: dict[str, Any]) -> Toolset:
    root = Root(folder).path
    return kind.build_toolset(kind.settings(root=root, **options) if kind.settings else None)


command = ByServer("serve", make, help=HELP)
