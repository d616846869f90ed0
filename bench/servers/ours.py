"""The trivial tool on our kit."""

from dataclasses import dataclass

from faultless import Toolset, serve

toolset = Toolset("trivial", version="1")


@dataclass
class Sum:
    total: int


@toolset.tool.reads
async def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return Sum(a + b)


serve(toolset)
