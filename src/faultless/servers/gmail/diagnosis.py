"""What `faultless doctor` says about the Gmail server; asks nobody on the network."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from faultless.contract import Fault
from faultless.kit.toolset import Check
from faultless.servers.gmail import token_file
from faultless.servers.gmail.settings import default_credentials_path, default_token_path

if TYPE_CHECKING:
    from pathlib import Path


def diagnose(root: Path) -> list[Check]:
    del root  # the login belongs to the user, not to a folder
    return [_check_client(default_credentials_path()), _check_token(default_token_path())]


def _check_client(path: Path) -> Check:
    found = path.is_file()
    return Check(
        "OAuth client",
        ok=found,
        found=f"{path} is there" if found else f"no {path}",
        fix="" if found else "download a desktop client from the Google Cloud console to that place",
    )


def _check_token(path: Path) -> Check:
    try:
        token = token_file.read(path)
    except Fault as fault:
        return Check("Gmail login", ok=False, found=fault.message, fix=fault.hint or "")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return Check("Gmail login", ok=False, found=f"others may read {path}", fix=f"chmod 600 {path}")
    renewable = "renews itself" if token.refresh else "cannot be renewed"
    fix = "" if token.refresh else f"run `{token_file.LOGIN_COMMAND}`"
    return Check("Gmail login", ok=bool(token.refresh), found=f"{path}, {renewable}", fix=fix)
