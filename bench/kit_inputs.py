"""Twenty bad inputs for the four tools on books, and what makes an answer to one right."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from faultless.testing import WireClient

ISBN = "9780000000001"
BOOK = {"isbn": ISBN, "title": "Faults", "cents": 999}
NEW = {"isbn": "9780000000002", "title": "Verdicts", "cents": 500}
ABSENT = "9780000000009"


@dataclass(frozen=True)
class Case:
    what: str
    names: str
    """What the answer must name: whoever reads it has to know what to correct."""
    tool: str = "add_book"
    arguments: Any = field(default_factory=dict)
    line: bytes | None = None
    """Sent instead of a call."""


CASES: Sequence[Case] = (
    Case("a parameter is missing", "title", arguments={"isbn": NEW["isbn"], "cents": 1}),
    Case("all are missing", "isbn"),
    Case("a number as text", "cents", arguments={**NEW, "cents": "500"}),
    Case("a number as text in a change", "cents", "change_price", {"isbn": ISBN, "cents": "1"}),
    Case("true for a number", "cents", arguments={**NEW, "cents": True}),
    Case("a fraction", "cents", arguments={**NEW, "cents": 9.5}),
    Case("a number below its range", "cents", arguments={**NEW, "cents": -1}),
    Case("a number far above its range", "cents", arguments={**NEW, "cents": 10**30}),
    Case("an ISBN that is too short", "isbn", arguments={**NEW, "isbn": "978"}),
    Case("an ISBN as a number", "isbn", arguments={**NEW, "isbn": 9780000000002}),
    Case("null for a title", "title", arguments={**NEW, "title": None}),
    Case("a list for a title", "title", arguments={**NEW, "title": ["Verdicts"]}),
    Case("a parameter that is not there", "price", arguments={**NEW, "price": 5}),
    Case("a misspelt parameter beside the others", "limits", "find_books", {"words": "a", "limits": 3}),
    Case("a limit of nothing", "limit", "find_books", {"words": "a", "limit": 0}),
    Case("a book that is there already", ISBN, arguments=BOOK),
    Case("the price of a book that is not there", ABSENT, "change_price", {"isbn": ABSENT, "cents": 1}),
    Case("removing a book that is not there", ABSENT, "remove_book", {"isbn": ABSENT}),
    Case("a misspelt tool", "add_bok", "add_bok", NEW),
    Case("a line that is not JSON", "", line=b"{this is not JSON}\n"),
)


def find_problems(command: list[str]) -> list[str]:
    """A sentence for every case that was not answered right, by one server for all of them."""
    problems = []
    with WireClient(command) as client:
        client.open("handshake")
        client.call("add_book", BOOK)
        client.deadline_seconds = 10.0
        for case in CASES:
            problem = _judge(client, case)
            if problem:
                problems.append(f"{case.what}: {problem}")
                client.call("remove_book", {"isbn": NEW["isbn"]})
                client.call("change_price", {"isbn": ISBN, "cents": BOOK["cents"]})
    return problems


def _judge(client: WireClient, case: Case) -> str | None:
    """Right: declared as an error, naming what is wrong, with nothing done, by a server that lives on."""
    if case.line is None:
        answer = client.call(case.tool, case.arguments)
    else:
        client.send(case.line)
        try:
            answer = client.receive()
        except TimeoutError:
            return "it was not answered"
    is_declared = "error" in answer or answer["result"].get("isError") is True
    text = str(answer.get("error") or answer["result"]["content"])
    found = client.call("find_books", {"words": ""})["result"]["structuredContent"]["result"]
    if found != [BOOK]:
        return "it was done all the same"
    if not is_declared:
        return "it was answered as a success"
    return None if case.names in text else f"the answer does not name {case.names}"
