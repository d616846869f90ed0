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
    login = _check_token(default_token_path())
    return [_check_client(default_credentials_path(), is_needed=not login.ok), login]


def _check_client(path: Path, *, is_needed: bool) -> Check:
    """A login that renews itself carries what it needs of the client."""
    if path.is_file():
        return Check("OAuth client", ok=True, found=f"{path} is there", fix="")
    if not is_needed:
        return Check("OAuth client", ok=True, found="not needed: the login renews itself", fix="")
    fix = (
        "download a desktop client from the Google Cloud console to that place, or log in with --client FILE"
    )
    return Check("OAuth client", ok=False, found=f"no {path}", fix=fix)


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
