"""Re-pins this folder with hashes and without any index address: `make lock`."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
UV = Path(sys.executable).with_name("uv")
COMPILE = [
    "pip",
    "compile",
    "--quiet",
    "--universal",
    "--generate-hashes",
    "--no-header",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--python-version=3.11",
]
TARGETS = {
    "dev": ["pyproject.toml", "--all-extras", "--group=dev"],
    "base": ["pyproject.toml", "--constraint=requirements/dev.txt"],
    **{path.stem: [f"requirements/{path.name}"] for path in sorted((ROOT / "requirements").glob("*.in"))},
}

for name, sources in TARGETS.items():
    command = [str(UV), *COMPILE, *sources, f"--output-file=requirements/{name}.txt", *sys.argv[1:]]
    subprocess.run(command, check=True, cwd=ROOT)
