"""Serves the Gmail server as `faultless serve gmail` does, but for a Sent folder that does not lag."""

from pathlib import Path

import click

from faultless.kit import log, stdio
from faultless.servers.gmail import fate, server


def serve(root: Path, **options: object) -> None:
    log.configure()
    fate.PAUSE_SECONDS = 0.05
    stdio.serve(server.build(root, options))


if __name__ == "__main__":
    place = click.Option(["--root"], type=click.Path(path_type=Path))
    click.Command("gmail", params=[place, *server.options], callback=serve).main()
