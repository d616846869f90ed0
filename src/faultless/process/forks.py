"""What a fork of this process must not hold: a watch on a supervisor, an end of a command's pipe.

A supervisor ends its command when the socket to us closes, and a command ends when its input does. A fork
of the program that uses us would keep both open after we are gone.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Iterable


class _Holder(Protocol):
    def list_descriptors(self) -> Iterable[int]: ...


_holders: WeakSet[_Holder] = WeakSet()
let_go_in_forks = _holders.add


def _let_go() -> None:
    """Another file under the same number: what the fork's copies of our objects do to it hurts nobody."""
    held = [descriptor for holder in _holders for descriptor in holder.list_descriptors()]
    if held:
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in held:
            os.dup2(null, descriptor, inheritable=False)
        os.close(null)


os.register_at_fork(after_in_child=_let_go)
