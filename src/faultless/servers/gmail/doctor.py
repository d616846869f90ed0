"""What `faultless doctor` says about the Gmail server; asks nobody on the network."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from faultless.contract import Fault
from faultless.kit.command import Check
from faultless.servers.gmail.access import read_token
from faultless.servers.gmail.faults import LOGIN_COMMAND
from faultless.servers.gmail.settings import default_credentials_path, default_token_path

if TYPE_CHECKING:
    from pathlib import Path


def diagnose(root: Path) -> list[Check]:
    del root  # the login belongs to the user, not to a folder
    login = _check_login(default_token_path())
    return [_check_client(default_credentials_path(), is_needed=not login.ok), login]


def _check_client(path: Path, *, is_needed: bool) -> Check:
    """A login that renews itself carries what it needs of the client."""
    if path.is_file():
        return Check("OAuth client", ok=True, found=f"{path} is there")
    if not is_needed:
        return Check("OAuth client", ok=True, found="not needed: the login renews itself")
    fix = (
        "download a desktop client from the Google Cloud console to that place, or log in with --client FILE"
    )
    return Check("OAuth client", ok=False, found=f"no {path}", fix=fix)


def _check_login(path: Path) -> Check:
    try:
        token = read_token(path)
    except Fault as fault:
        return Check("Gmail login", ok=False, found=fault.message, fix=fault.hint or "")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return Check("Gmail login", ok=False, found=f"others may read {path}", fix=f"chmod 600 {path}")
    if not token.refresh:
        return Check(
            "Gmail login", ok=False, found=f"{path}, cannot be renewed", fix=f"run `{LOGIN_COMMAND}`"
        )
    return Check("Gmail login", ok=True, found=f"{path}, renews itself")
