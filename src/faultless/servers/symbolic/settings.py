"""What the symbolic server was started with."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from faultless.kit.command import option


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    root: Path
    memory_megabytes: int = option(
        2048, "Memory limit of each process that runs user code.", flag="--memory-mb", at_least=256
    )
    code_kilobytes: int = option(64, "Largest code accepted.", flag="--max-code-kb", at_least=1, at_most=1024)
    isolation: Literal["none", "strict"] = option(
        "none", "Refuse to run user code below this level.", flag="--require-isolation"
    )
    allow_imports: tuple[str, ...] = option(
        (),
        "A module user code may import besides the built-in list; repeatable.",
        flag="--allow-import",
        metavar="MODULE",
    )
    concurrent: int | None = option(None, "Calls at once.", at_least=1, shown_default="by cores")
    waiting: int = option(64, "Calls that may wait for their turn.", at_least=0)

    @property
    def slots(self) -> int:
        """Each call runs two engines; more calls than this would only slow each other down."""
        return self.concurrent or max(4, 2 * (os.cpu_count() or 1))
