"""Serves a server of ours whose health_check fails as it is told: with a fault of a kind, or with a bug."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

from faultless.cli.lookup import load
from faultless.contract import Fault, FaultKind
from faultless.kit import log, stdio
from faultless.kit.toolset import Call, Output


def main(name: str, root: str, planted: str) -> None:
    log.configure()
    kind = load(name)
    assert kind.settings is not None
    toolset = kind.build_toolset(kind.settings(root=Path(root)))

    async def fail(raw: dict[str, Any], call: Call) -> Output:
        del raw, call
        if planted == "bug":
            raise RuntimeError("CANARY-internal")
        raise Fault(FaultKind(planted), "planted", hint="a hint", retry_after_seconds=7)

    toolset.tools["health_check"] = dataclasses.replace(toolset.tools["health_check"], run=fail)
    stdio.serve(toolset)


if __name__ == "__main__":
    main(*sys.argv[1:])
