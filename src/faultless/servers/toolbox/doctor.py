"""What the toolbox needs from the machine, for `faultless doctor`."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from faultless.contract import Fault
from faultless.kit.command import Check
from faultless.servers.toolbox.folder import find_folder

if TYPE_CHECKING:
    from pathlib import Path


def diagnose(root: Path) -> list[Check]:
    bash = shutil.which("bash")
    checks = [
        Check("bash", bash is not None, bash or "not on PATH", "install bash; mcbox tools are bash functions")
    ]
    try:
        folder = find_folder(root, None, os.environ)
    except Fault as fault:
        return [*checks, Check("tools", ok=False, found=fault.message, fix=fault.hint or "")]
    found = str(folder) if folder.is_dir() else f"there is no folder {folder}"
    return [*checks, Check("tools", ok=folder.is_dir(), found=found, fix="faultless toolbox new hello")]
