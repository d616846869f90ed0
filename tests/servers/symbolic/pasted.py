"""A reproduction, pasted below the code it is about."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def fails_as_a_test(code: str, reproduction: str, tmp_path: Path) -> bool:
    """Pasted below the code and run by pytest."""
    path = tmp_path / "test_reproduction.py"
    path.write_text(f"{code}\n\n{reproduction}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    return done.returncode == 1 and "1 failed" in done.stdout


def fails(code: str, reproduction: str) -> bool:
    """The same without pytest, which takes longer to start than the test to run."""
    name = reproduction.split("def ")[1].split("(", maxsplit=1)[0]
    program = f"{code}\n\n{reproduction}\n\n{name}()\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    return done.returncode != 0
