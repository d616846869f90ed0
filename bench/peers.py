"""Environments for other people's programs, made once under .bench/ and pinned in requirements/."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PEERS = ROOT / ".bench"


def environment(
    name: str, requirements: str = "requirements/bench.txt", base: str | Path = sys.executable
) -> Path:
    """The interpreter of a virtual environment with those requirements."""
    home = PEERS / name
    python = home / "bin" / "python"
    pinned = (ROOT / requirements).read_text()
    stamp = home / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != pinned:
        uv = Path(sys.executable).with_name("uv")
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", base, home], check=True)
        subprocess.run(
            [
                *(uv, "pip", "sync", "--quiet", "--require-hashes", "--compile-bytecode"),  # as pip does
                *("--python", python, ROOT / requirements),
            ],
            check=True,
        )
        stamp.write_text(pinned)
    return python
