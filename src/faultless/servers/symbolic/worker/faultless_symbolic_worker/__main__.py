"""One request as a process of its own, most often a fork of a warm parent: the request on standard input,
JSON lines on the report pipe. It reads the user's code and never runs it; its children do.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import Any

from .job import describe_engine, handle
from .protocol import Request, Told

_REPORT_FD_VARIABLE = "FAULTLESS_REPORT_FD"


def main() -> None:
    report = int(os.environ[_REPORT_FD_VARIABLE])
    asked: dict[str, Any] = json.load(sys.stdin)

    def tell(message: Told) -> None:
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        while data:
            data = data[os.write(report, data) :]

    # Its children are given the same; a core dump would hold the user's code.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if asked:
        handle(Request.from_json(asked), tell)
    else:
        tell({"answer": describe_engine()})


if __name__ == "__main__":
    main()
