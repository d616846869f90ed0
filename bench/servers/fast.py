"""The trivial tool on fastmcp."""

from fastmcp import FastMCP
from pydantic import BaseModel

server = FastMCP("trivial")


class Sum(BaseModel):
    total: int


@server.tool
async def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return Sum(total=a + b)


server.run(show_banner=False)
