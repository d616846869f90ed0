"""The pipes of one run: our ends, the command's ends, each closed exactly once."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faultless.process.seam import Kernel
    from faultless.process.spec import Spec

STDIN, STDOUT, STDERR = 0, 1, 2


class Pipes:
    def __init__(self, kernel: Kernel, spec: Spec) -> None:
        self._kernel = kernel
        self._open: set[int] = set()
        self.ours: dict[int, int] = {}
        """By the number the other end has in the command."""
        self.theirs: dict[int, int] = {}
        self.ready = kernel.selector()
        """Becomes readable when any of ours has something to do: one wait, one task."""
        self.report = next(number for number in range(3, 1 << 16) if number not in spec.pass_fds)
        try:
            self._make(spec)
        except BaseException:
            self.close()
            raise

    def _make(self, spec: Spec) -> None:
        if spec.stdin:
            self._pipe(STDIN)
        else:
            self.theirs[STDIN] = self._own(self._kernel.open_null())
        self._pipe(STDOUT)
        self._pipe(STDERR)
        if spec.report:
            self._pipe(self.report)

    def _pipe(self, number: int) -> None:
        ends = self._kernel.pipe()
        self._open.update(ends)
        ours, theirs = reversed(ends) if number == STDIN else ends
        os.set_blocking(ours, False)
        self.ours[number], self.theirs[number] = ours, theirs

    def _own(self, descriptor: int) -> int:
        self._open.add(descriptor)
        return descriptor

    def close_theirs(self) -> None:
        for descriptor in self.theirs.values():
            self.drop(descriptor)

    def close(self) -> None:
        self.ready.close()
        for descriptor in tuple(self._open):
            self.drop(descriptor)

    def drop(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            with contextlib.suppress(OSError):  # it is closed all the same
                self._kernel.close(descriptor)
