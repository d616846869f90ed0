"""Golden answers without what differs from run to run and from machine to machine."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"
_CHANGING = [
    (re.compile(r"(INTERNALERROR> .*(\n|$))+"), "INTERNALERROR> ...\n"),
    (re.compile(r"in \d+\.\d+s"), "in 0.00s"),
    (re.compile(r"timeout of \d+ seconds"), "timeout of N seconds"),
    (re.compile(r"0x[0-9a-f]+"), "0x0"),
    (re.compile(r"platform .*"), "platform ..."),
    (re.compile(r"rootdir: .*"), "rootdir: ..."),
    (re.compile(re.escape(sys.executable)), "python"),
    (re.compile(r"=+ (.*?) =+$", re.MULTILINE), r"= \1 ="),
]


def mask(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {
            name: 0.0 if name == "duration" and item is not None else mask(item)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [mask(item) for item in value]
    if isinstance(value, str):
        for pattern, replacement in _CHANGING:
            value = pattern.sub(replacement, value)
    return value
