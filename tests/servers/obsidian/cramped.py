"""Writes into a vault that takes nothing more and prints what happened.

`python cramped.py FOLDER full` fills the disk, `… FOLDER limit` limits the size of files, `… FOLDER readonly` remounts.
"""

import json
import os
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from faultless.contract import Fault
from faultless.servers.obsidian.inputs import MoveNote, Operation, PatchNote, TargetKind, WriteNote
from faultless.servers.obsidian.moving import move_note
from faultless.servers.obsidian.settings import Settings
from faultless.servers.obsidian.vault import Vault


def attempt(vault: Vault, name: str) -> str:
    big = "x" * 400_000
    try:
        if name == "write":
            vault.write(WriteNote(path="a.md", body=big, overwrite=True))
        elif name == "create":
            vault.write(WriteNote(path="new.md", body=big))
        elif name == "patch":
            vault.patch(
                PatchNote(path="a.md", operation=Operation.APPEND, target_type=TargetKind.NOTE, content=big)
            )
        else:
            move_note(vault, MoveNote(source="b.md", destination=f"{'long name ' * 20}x.md"))
    except Fault as fault:
        return str(fault.kind)
    return "done"


def _fill(path: Path) -> None:
    """Until there is no room left."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    with suppress(OSError):
        while os.write(descriptor, b"\0" * 4096):
            pass
    os.close(descriptor)


def main(root: Path, how: str) -> dict[str, object]:
    (root / "a.md").write_text("old a")
    (root / "b.md").write_text("old b")
    (root / "links.md").write_text("[[b]] " * 15_000)
    if how == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    elif how == "full":
        _fill(root / "filler.bin")
    else:
        subprocess.run(["mount", "-o", "remount,ro", str(root)], check=True, timeout=60)
    vault = Vault(Settings(root=root))
    outcomes = {name: attempt(vault, name) for name in ("write", "create", "patch", "move")}
    notes = {path.name: path.read_text()[:20] for path in root.glob("*.md")}
    left = [path.name for path in root.iterdir() if path.name.startswith(".faultless")]
    return {"outcomes": outcomes, "notes": notes, "left": left}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), sys.argv[2])))
