"""Our end of the line to a run that began before it was asked: where it is held, and its leave to go on."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import anyio

from faultless.process.lines import LineSplitter
from faultless.process.readiness import until_readable

if TYPE_CHECKING:
    from collections.abc import Sequence

_LINE_BYTES = 4096
_GOING_ON = "going on"


class Hold:
    """One for each run; `number` is the descriptor that the run is given."""

    def __init__(self, edited: Sequence[str]) -> None:
        """It stops before it reads anything of the files in `edited`."""
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._send(edited)
        self.number = self._theirs.fileno()
        self.process_id = 0
        self.before: str | None = None
        """What it stopped before, once it has."""
        self.unfit: str | None = None
        """What would have gone on while it was held; then it is gone."""
        self.change: str | None = None
        """What it has consumed and is different now: it may not go on."""
        self.stopped = anyio.Event()
        self.asked = anyio.Event()
        self.answered = anyio.Event()
        self.has_gone_on = False

    def ask(self, changes: Sequence[str]) -> None:
        """Somebody wants the run. Of the files in `changes` it may not have read anything."""
        self._send(changes)
        self.asked.set()

    async def follow(self, process_id: int) -> None:
        self._theirs.close()  # so that its end is seen
        self.process_id = process_id
        lines = LineSplitter(_LINE_BYTES)
        while True:
            await until_readable(self._ours)
            try:
                data = self._ours.recv(_LINE_BYTES)
            except ConnectionResetError:
                data = b""
            for line in lines.feed(data):
                self._take(os.fsdecode(line.data).rstrip("\n"))
            if not data:
                return

    def close(self) -> None:
        self._ours.close()
        self._theirs.close()

    def _take(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "paused":
            self.before = rest
            self.stopped.set()
        elif word == "unfit":
            self.unfit = rest
        elif word == "changed":
            self.change = rest
            self.answered.set()
        elif line == _GOING_ON:
            self.has_gone_on = True
            self.answered.set()

    def _send(self, paths: Sequence[str]) -> None:
        """How many bytes follow, then each with a NUL at its end. A run that is gone hears nothing."""
        body = b"".join(os.fsencode(path) + b"\0" for path in paths)
        try:
            self._ours.sendall(len(body).to_bytes(4, "big") + body)
        except OSError:
            self.answered.set()
