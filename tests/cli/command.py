"""Runs the real command; every wait has a deadline."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
SERVER = f"{HERE / 'fixture_server.py'}:server"
DEADLINE_SECONDS = 120
COMMAND = [sys.executable, "-P", "-m", "faultless"]
_SETTINGS = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "FAULTLESS_LOG_LEVEL", "OTEL_LOG_LEVEL"}


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _SETTINGS} | dict(extra or {})


def faultless(
    *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    finished = subprocess.run(
        [*COMMAND, *arguments],
        env=environment(env),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert "Traceback" not in finished.stdout + finished.stderr.replace('"traceback":"Traceback', "")
    return finished
