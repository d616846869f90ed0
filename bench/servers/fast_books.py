"""Books in a database, as four tools."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from typing import Annotated

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.lifespan import lifespan
from pydantic import Field

SCHEMA = "CREATE TABLE books (isbn TEXT PRIMARY KEY, title TEXT, cents INTEGER)"
Isbn = Annotated[str, Field(pattern=r"^\d{13}$")]
Cents = Annotated[int, Field(ge=0, le=100_000)]


@dataclass
class Book:
    isbn: str
    title: str
    cents: int


@lifespan
async def open_books(server: FastMCP) -> AsyncIterator[dict[str, sqlite3.Connection]]:  # noqa: ARG001 - as it is called
    with closing(sqlite3.connect(":memory:")) as books:
        books.execute(SCHEMA)
        yield {"books": books}


server = FastMCP("books", version="1", lifespan=open_books)


@server.tool(annotations={"readOnlyHint": True})
async def find_books(words: str, context: Context, limit: Annotated[int, Field(ge=1)] = 10) -> list[Book]:
    """Find books by words of their titles.

    Args:
        words: What the title must contain
        limit: How many at most
    """
    query = "SELECT isbn, title, cents FROM books WHERE title LIKE ? LIMIT ?"
    books = context.lifespan_context["books"]
    return [Book(*row) for row in books.execute(query, [f"%{words}%", limit])]


@server.tool(annotations={"readOnlyHint": False, "destructiveHint": False})
async def add_book(isbn: Isbn, title: str, cents: Cents, context: Context) -> Book:
    """Add a book.

    Args:
        isbn: Thirteen digits
        title: As it stands on the cover
        cents: What it costs
    """
    books = context.lifespan_context["books"]
    try:
        books.execute("INSERT INTO books VALUES (?, ?, ?)", [isbn, title, cents])
    except sqlite3.IntegrityError:
        raise ToolError(f"isbn {isbn} is there already, use change_price") from None
    return Book(isbn, title, cents)


@server.tool(annotations={"destructiveHint": True, "idempotentHint": True})
async def change_price(isbn: Isbn, cents: Cents, context: Context) -> None:
    """Change what a book costs.

    Args:
        isbn: Thirteen digits
        cents: What it costs from now on
    """
    books = context.lifespan_context["books"]
    if not books.execute("UPDATE books SET cents = ? WHERE isbn = ?", [cents, isbn]).rowcount:
        raise ToolError(f"no book has isbn {isbn}, use find_books")


@server.tool(annotations={"destructiveHint": True, "idempotentHint": True})
async def remove_book(isbn: Isbn, context: Context) -> None:
    """Remove a book.

    Args:
        isbn: Thirteen digits
    """
    books = context.lifespan_context["books"]
    if not books.execute("DELETE FROM books WHERE isbn = ?", [isbn]).rowcount:
        raise ToolError(f"no book has isbn {isbn}, use find_books")


server.run(show_banner=False)
