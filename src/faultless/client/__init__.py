"""Call a tool on any server: a verdict, or a Fault."""

import logging

from faultless.client.calling import Reply
from faultless.client.client import Client, SyncClient
from faultless.client.elicitation import Elicitation, ElicitedField
from faultless.client.group import ClientGroup
from faultless.client.journal import Journal, read_journal
from faultless.client.listing import ListedTool
from faultless.client.offers import Prompt, Resource
from faultless.client.policies import Breaker, Fallback, RetryPolicy

# The SDK logs every odd frame with a traceback; it stays silent unless the program sets up logging.
for _name in ("mcp", "client"):  # its session calls itself "client"
    logging.getLogger(_name).addHandler(logging.NullHandler())

__all__ = [
    "Breaker",
    "Client",
    "ClientGroup",
    "Elicitation",
    "ElicitedField",
    "Fallback",
    "Journal",
    "ListedTool",
    "Prompt",
    "Reply",
    "Resource",
    "RetryPolicy",
    "SyncClient",
    "read_journal",
]
