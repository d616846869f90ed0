"""What `faultless doctor` says: whether the engine is installed, and which isolation this system gives."""

from __future__ import annotations

import importlib.util
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


def diagnose(_root: Path) -> list[Check]:
    missing = [name for name in ("crosshair", "z3") if importlib.util.find_spec(name) is None]
    if missing:
        found = f"no {', '.join(missing)}"
        return [Check("engine", ok=False, found=found, fix="pip install 'faultless[symbolic]'")]
    return [Check("engine", ok=True, found="crosshair and z3"), _diagnose_isolation()]


def _diagnose_isolation() -> Check:
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
    return Check("isolation", told["level"] == STRICT, found, fix)
