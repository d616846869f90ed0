"""Who belongs to a run, and how to reach every one of them."""

from __future__ import annotations

import ctypes
import os
import sys

from .system import signal, suppress

TYPE_CHECKING = False  # see system
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Protocol

    from .system import System

    class Tree(Protocol):
        def watch(self, leader: int) -> None:
            """A new run: `leader` was started in a session of its own."""

        def members(self) -> dict[int, int]:
            """Every living descendant (zombies are not), and its parent."""

        def nearest(self) -> Collection[int]:
            """Descendants that may be killed without a check: their ids cannot have been given away."""

        def is_empty(self) -> bool:
            """Whether nobody is left, asked once there is no child left to wait for."""


_PR_SET_CHILD_SUBREAPER = 36
_PS = ("/bin/ps", "-axo", "pid=,ppid=,pgid=,stat=")


def adopt_orphans() -> None:
    """Descendants whose parent ends become children of this process, whatever session they are in."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _descend(parents: Mapping[int, int], roots: Collection[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    generation = set(roots)
    while generation:
        children = {
            pid: parent for pid, parent in parents.items() if parent in generation and pid not in found
        }
        found.update(children)
        generation = set(children)
    return found


class _AdoptedTree:
    """Linux: this process is a subreaper, so its descendants are the run, all of it and nothing else."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._own = os.getpid()

    def watch(self, leader: int) -> None:
        pass

    def members(self) -> dict[int, int]:
        parents = dict(_read_parent(self._system, pid) for pid in self._system.list_process_ids())
        parents.pop(0, None)
        return _descend(parents, {self._own})

    def nearest(self) -> Collection[int]:
        try:
            listing = self._system.read_file(f"/proc/{self._own}/task/{self._own}/children")
            return [int(pid) for pid in listing.split()]
        except FileNotFoundError:  # a kernel built without CONFIG_PROC_CHILDREN
            return [pid for pid, parent in self.members().items() if parent == self._own]

    def is_empty(self) -> bool:
        return True


class GroupTree:
    """Elsewhere: the leader's process group, and the descendants seen before they could re-parent.

    Missed: a process that left the group and lost its parent before anybody looked.
    """

    def __init__(self) -> None:
        self._leader = 0
        self._seen: set[int] = set()

    def watch(self, leader: int) -> None:
        self._leader = leader
        self._seen = set()

    def members(self) -> dict[int, int]:
        table = _list_processes()
        parents = {pid: parent for pid, (parent, _group) in table.items()}
        group = {pid for pid, (_parent, group) in table.items() if group == self._leader}
        self._seen = (self._seen & table.keys()) | group | _descend(parents, group | self._seen).keys()
        return {pid: parents[pid] for pid in self._seen}

    def nearest(self) -> Collection[int]:
        return self.members()

    def is_empty(self) -> bool:
        if self._seen:
            return not self.members()
        with suppress(PermissionError):
            try:
                os.killpg(self._leader, 0)
            except ProcessLookupError:
                return True
        return not self.members()


def make_tree(system: System) -> Tree:
    return _AdoptedTree(system) if sys.platform == "linux" else GroupTree()


def reach(system: System, pid: int, parents: Collection[int], number: int) -> None:
    """Signal a process only if it is a child of one of `parents`: its id may have been given away."""
    with suppress(OSError):
        if not hasattr(os, "pidfd_open"):
            os.kill(pid, number)
            return
        handle = os.pidfd_open(pid)
        try:
            if _read_parent(system, pid)[1] in parents:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def _read_parent(system: System, pid: int) -> tuple[int, int]:
    """The process and its parent; (0, 0) for a zombie or one that is gone."""
    try:
        stat = system.read_file(f"/proc/{pid}/stat")
    except OSError:
        return 0, 0
    state, parent = stat[stat.rindex(b")") + 2 :].split(maxsplit=2)[:2]  # a name may hold brackets
    return (0, 0) if state in b"ZX" else (pid, int(parent))


def _list_processes() -> dict[int, tuple[int, int]]:
    import subprocess  # noqa: PLC0415 - where it is not needed a warden starts without it

    listing = subprocess.run(_PS, capture_output=True, check=False, timeout=10).stdout
    rows = [line.split() for line in listing.splitlines()]
    return {
        int(pid): (int(parent), int(group))
        for pid, parent, group, state in rows
        if not state.startswith(b"Z")
    }
