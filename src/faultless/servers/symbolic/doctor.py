"""What `faultless doctor` says: which isolation this system gives to user code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from faultless.kit.command import Check
from faultless.servers.symbolic.worker import FOLDER
from faultless.servers.symbolic.worker.faultless_symbolic_worker.protocol import STRICT, describe_layers

if TYPE_CHECKING:
    from pathlib import Path

_PROBE = "import json; from faultless_symbolic_worker.sandbox import probe; print(json.dumps(probe()))"
_PROBE_SECONDS = 60


def diagnose(root: Path) -> list[Check]:
    del root  # the code to analyse comes with each call
    done = subprocess.run(
        [sys.executable, "-c", _PROBE],
        env={**os.environ, "PYTHONPATH": str(FOLDER)},
        capture_output=True,
        text=True,
        check=False,
        timeout=_PROBE_SECONDS,
    )
    layers = json.loads(done.stdout) if done.returncode == 0 else []
    told = describe_layers(layers)
    found = f"{told['level']} ({', '.join(layers) or 'no layers'})"
    fix = f"not here: {', '.join(told['missing'])}; user code is less contained" if told["missing"] else ""
    return [Check("isolation", told["level"] == STRICT, found, fix)]
