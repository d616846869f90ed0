"""Books in a database, as four tools."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from faultless import Fault, FaultKind, Toolset, serve

SCHEMA = "CREATE TABLE books (isbn TEXT PRIMARY KEY, title TEXT, cents INTEGER)"
Isbn = Annotated[str, Field(pattern=r"^\d{13}$")]
Cents = Annotated[int, Field(ge=0, le=100_000)]
toolset = Toolset("books", version="1")


@dataclass
class Book:
    isbn: str
    title: str
    cents: int


@toolset.lifespan
def open_books() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as books:
        books.execute(SCHEMA)
        yield books


@toolset.tool.reads
async def find_books(
    words: str, books: sqlite3.Connection, limit: Annotated[int, Field(ge=1)] = 10
) -> list[Book]:
    """Find books by words of their titles.

    Args:
        words: What the title must contain
        limit: How many at most
    """
    query = "SELECT isbn, title, cents FROM books WHERE title LIKE ? LIMIT ?"
    return [Book(*row) for row in books.execute(query, [f"%{words}%", limit])]


@toolset.tool.adds
async def add_book(isbn: Isbn, title: str, cents: Cents, books: sqlite3.Connection) -> Book:
    """Add a book.

    Args:
        isbn: Thirteen digits
        title: As it stands on the cover
        cents: What it costs
    """
    try:
        books.execute("INSERT INTO books VALUES (?, ?, ?)", [isbn, title, cents])
    except sqlite3.IntegrityError:
        raise Fault(FaultKind.CONFLICT, f"isbn {isbn} is there already", hint="use change_price") from None
    return Book(isbn, title, cents)


@toolset.tool.changes(idempotent=True)
async def change_price(isbn: Isbn, cents: Cents, books: sqlite3.Connection) -> None:
    """Change what a book costs.

    Args:
        isbn: Thirteen digits
        cents: What it costs from now on
    """
    if not books.execute("UPDATE books SET cents = ? WHERE isbn = ?", [cents, isbn]).rowcount:
        raise Fault(FaultKind.NOT_FOUND, f"no book has isbn {isbn}", hint="use find_books")


@toolset.tool.changes(idempotent=True)
async def remove_book(isbn: Isbn, books: sqlite3.Connection) -> None:
    """Remove a book.

    Args:
        isbn: Thirteen digits
    """
    if not books.execute("DELETE FROM books WHERE isbn = ?", [isbn]).rowcount:
        raise Fault(FaultKind.NOT_FOUND, f"no book has isbn {isbn}", hint="use find_books")


serve(toolset)
