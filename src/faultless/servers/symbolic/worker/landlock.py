"""Landlock by system call: nothing of the file system but what is listed, and that read only."""

from __future__ import annotations

import ctypes
import os
import struct

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1
_READ = 1 | 4 | 8  # execute (shared libraries), read a file, list a directory
_ALL_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_NET_ABI, _SCOPE_ABI = 4, 6
_ALL_NET, _ALL_SCOPES = 3, 3
_libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """The kernel's Landlock ABI; 0 where there is none."""
    try:
        return max(0, int(_libc.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION_FLAG)))
    except (AttributeError, OSError):
        return 0


def restrict(readable: list[str]) -> bool:
    abi = version()
    if abi < 1:
        return False
    handled = _ALL_BY_ABI[min(abi, max(_ALL_BY_ABI))]
    fields = [handled]
    if abi >= _NET_ABI:
        fields.append(_ALL_NET)
    if abi >= _SCOPE_ABI:
        # Signals and abstract sockets only inside the sandbox.
        fields.append(_ALL_SCOPES)
    attributes = struct.pack(f"{len(fields)}Q", *fields)
    ruleset = _libc.syscall(_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow(ruleset, path)
        return bool(_libc.syscall(_RESTRICT, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        _libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", _READ, folder), 0)
    finally:
        os.close(folder)
