"""The trivial tool on our kit."""

from faultless.contract import Dialect
from faultless.kit import stdio
from faultless.kit.toolset import Answer, Arguments, Toolset

toolset = Toolset("trivial", version="1", dialect=Dialect.JSONRPC)


class Add(Arguments):
    a: int
    b: int


class Sum(Answer):
    total: int


@toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
async def add(arguments: Add) -> Sum:
    """Add two numbers."""
    return Sum(total=arguments.a + arguments.b)


stdio.serve(toolset)
