"""Public test suites: source distributions, fetched once under .bench/ by name and version."""

import subprocess
import sys
import tarfile
from pathlib import Path

from bench.peers import PEERS


def fetch(name: str, version: str) -> Path:
    """The unpacked source distribution."""
    folder = PEERS / "suites" / f"{name.replace('-', '_')}-{version}"
    if not folder.exists():
        parent = folder.parent
        parent.mkdir(parents=True, exist_ok=True)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary=:all:",
            "--dest",
            parent,
        ]
        subprocess.run([*pip, f"{name}=={version}"], check=True)
        (archive,) = parent.glob(f"*{version}.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(parent, filter="data")
        archive.unlink()
    return folder
