"""MCP servers and a client that agree on what an error is."""

from importlib import import_module
from typing import TYPE_CHECKING

from faultless.contract import Dialect, Fault, FaultKind

if TYPE_CHECKING:
    from faultless.client import (
        Client,
        ClientGroup,
        Elicitation,
        Fallback,
        Journal,
        Prompt,
        Reply,
        Resource,
        RetryPolicy,
        SyncClient,
    )
    from faultless.kit.results import Audio, EmbeddedResource, Image, ResourceLink
    from faultless.kit.serving import serve
    from faultless.kit.toolset import Answer, Arguments, Call, Toolset

__all__ = [
    "Answer",
    "Arguments",
    "Audio",
    "Call",
    "Client",
    "ClientGroup",
    "Dialect",
    "Elicitation",
    "EmbeddedResource",
    "Fallback",
    "Fault",
    "FaultKind",
    "Image",
    "Journal",
    "Prompt",
    "Reply",
    "Resource",
    "ResourceLink",
    "RetryPolicy",
    "SyncClient",
    "Toolset",
    "serve",
]

# The kit loads the whole MCP SDK, most of a second; a program that only reads faults need not wait.
_LAZY = {
    "Answer": "faultless.kit.toolset",
    "Arguments": "faultless.kit.toolset",
    "Audio": "faultless.kit.results",
    "Call": "faultless.kit.toolset",
    "Client": "faultless.client",
    "ClientGroup": "faultless.client",
    "Elicitation": "faultless.client",
    "EmbeddedResource": "faultless.kit.results",
    "Fallback": "faultless.client",
    "Image": "faultless.kit.results",
    "Journal": "faultless.client",
    "Prompt": "faultless.client",
    "Reply": "faultless.client",
    "Resource": "faultless.client",
    "ResourceLink": "faultless.kit.results",
    "RetryPolicy": "faultless.client",
    "SyncClient": "faultless.client",
    "Toolset": "faultless.kit.toolset",
    "serve": "faultless.kit.serving",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'faultless' has no attribute {name!r}")
