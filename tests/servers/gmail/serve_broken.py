"""Serves the Gmail server with a bug in it: a state folder whose type nobody expects."""

from pathlib import Path

from faultless.kit import log, stdio
from faultless.servers.gmail.settings import Settings
from faultless.servers.gmail.toolset import build_toolset


class BrokenPath(type(Path())):  # type: ignore[misc]  # the concrete class differs by system
    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        raise RuntimeError("CANARY-internal")


if __name__ == "__main__":
    log.configure()
    stdio.serve(build_toolset(Settings(BrokenPath("token"), Path("state"), Path("attachments"))))
