"""What the pytest server was started with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from faultless.kit.command import option


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    root: Path
    python: Path | None = option(
        None,
        "The interpreter that runs the tests (default: the project's own, see faultless doctor).",
        metavar="FILE",
        must_exist=True,
    )
    timeout_seconds: int = option(300, "Seconds a run may take.", flag="--timeout", at_least=1)
    max_timeout_seconds: int = option(
        3600, "Most seconds a call may ask for.", flag="--max-timeout", at_least=1
    )
    concurrent: int = option(
        1,
        "Runs of this project at once; above 1 each has a cache and a coverage file of its own.",
        metavar="N",
        at_least=1,
        at_most=64,
    )
    no_early: bool = option(False, "Begin no run before it is asked for.", renamed_from=("--cold",))
    idle_minutes: float = option(10.0, "After this time without a call no run is kept begun.", at_least=0.1)
