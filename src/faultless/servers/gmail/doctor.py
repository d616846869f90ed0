"""What `faultless doctor` says about the Gmail server; asks nobody on the network."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from faultless.contract import Fault
from faultless.kit.command import Check
from faultless.servers.gmail.access import read_token
from faultless.servers.gmail.faults import LOGIN_COMMAND, login_command
from faultless.servers.gmail.settings import default_credentials_path, default_token_path, list_accounts

if TYPE_CHECKING:
    from pathlib import Path


def diagnose(root: Path) -> list[Check]:
    del root  # the login belongs to the user, not to a folder
    named = [_check_login(account) for account in list_accounts()]
    is_unnamed_used = default_token_path().exists() or not named
    logins = [_check_login(""), *named] if is_unnamed_used else named
    is_needed = not all(it.ok for it in logins)
    return [_check_client(default_credentials_path(), is_needed=is_needed), *logins]


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


def _check_login(account: str) -> Check:
    title = f"Gmail login {account}" if account else "Gmail login"
    command = login_command(account)
    try:
        path = default_token_path(account)
        token = read_token(path)
    except Fault as fault:
        fix = (fault.hint or "").replace(LOGIN_COMMAND, command)
        return Check(title, ok=False, found=fault.message.replace(LOGIN_COMMAND, command), fix=fix)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return Check(title, ok=False, found=f"others may read {path}", fix=f"chmod 600 {path}")
    if not token.refresh:
        return Check(title, ok=False, found=f"{path}, cannot be renewed", fix=f"run `{command}`")
    return Check(title, ok=True, found=f"{path}, renews itself")
