"""Serves the Gmail server as `faultless serve gmail` does, but for a Sent folder that does not lag."""

import sys

from faultless.cli import main
from faultless.servers.gmail import delivery

if __name__ == "__main__":
    delivery.PAUSE_SECONDS = 0.05
    main(["serve", "gmail", *sys.argv[1:]])
