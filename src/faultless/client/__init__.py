"""Call a tool on any server: a verdict, or a Fault."""

import logging

from faultless.client.breaker import Breaker
from faultless.client.client import Client
from faultless.client.fallback import Fallback
from faultless.client.journal import Journal, read_journal
from faultless.client.listing import ListedTool
from faultless.client.reply import Reply
from faultless.client.retrying import RetryPolicy
from faultless.client.sync import SyncClient

# The SDK logs every odd frame with a traceback; it stays silent unless the program sets up logging.
for _name in ("mcp", "client"):  # its session calls itself "client"
    logging.getLogger(_name).addHandler(logging.NullHandler())

__all__ = [
    "Breaker",
    "Client",
    "Fallback",
    "Journal",
    "ListedTool",
    "Reply",
    "RetryPolicy",
    "SyncClient",
    "read_journal",
]
