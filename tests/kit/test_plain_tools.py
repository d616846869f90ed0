"""Functions with plain parameters and plain returns are tools; so are those with models."""

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from pydantic import BaseModel, Field

from faultless import (
    Audio,
    Call,
    EmbeddedResource,
    Fault,
    FaultKind,
    Image,
    ResourceLink,
    Toolset,
)
from faultless.client import Client
from faultless.contract import read
from faultless.kit.server import Boundary
from faultless.testing import connect, golden
from tests.kit.whose_bug import divide

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Article:
    number: str
    """On the label."""
    cents: int


class Stock(TypedDict):
    number: str
    pieces: int
    place: NotRequired[str]


class Order(BaseModel):
    number: str
    parts: list["Order"] = []


class Log:
    """Made once."""

    def __init__(self) -> None:
        self.lines: list[str] = []


def build() -> Toolset:
    toolset = Toolset("shop", version="1")

    @toolset.tool.reads(title="Greet somebody")
    def greet(who: str, times: int = 1) -> str:
        """Say hello.

        Args:
            who: Whom to greet
        """
        return "hello " * times + who

    @toolset.tool.reads(open_world=False)
    async def find_article(
        number: Annotated[str, "Such as A-17"], json: Annotated[int, Field(ge=1)] = 1
    ) -> Article:
        """Look an article up."""
        return Article(number, json)

    @toolset.tool.adds
    def count_stock(articles: list[Article], mode: Literal["fast", "slow"] = "fast") -> list[Stock]:
        """Count the pieces."""
        return [Stock(number=article.number, pieces=len(mode)) for article in articles]

    @toolset.tool.changes(idempotent=True)
    def forget(numbers: tuple[str, ...] = ()) -> None:
        """Forget articles."""

    @toolset.tool.changes(name="order-all")
    async def order(order: Order) -> Order:
        """Order it."""
        return order

    @toolset.tool.reads
    def total(unhashable: Annotated[int, {"note": []}] = 1) -> Annotated[float, {"note": []}]:
        """Add everything up."""
        return 3.5

    @toolset.tool.reads
    def show() -> list[str | Image | Audio | ResourceLink | EmbeddedResource]:
        """Show everything."""
        link = ResourceLink("shop://a", "a", mime_type="text/plain")
        return ["look", Image(b"png"), Audio(b"wav"), link, EmbeddedResource("shop://b", "text")]

    @toolset.tool.reads
    def empty() -> Image | None:
        """Show nothing."""
        return None

    return toolset


async def test_what_every_kind_of_parameter_and_return_looks_like_was_reviewed() -> None:
    async with connect(build()) as client:
        listed = await client.list_tools()
    shown: Any = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools]
    golden(Path(__file__).parent / "golden" / "plain_tools.json", shown)


@pytest.mark.parametrize(
    ("tool", "arguments", "structured", "text"),
    [
        ("greet", {"who": "Ada"}, None, "hello Ada"),
        ("greet", {"who": "Ada", "times": 2}, None, "hello hello Ada"),
        ("find_article", {"number": "A"}, {"number": "A", "cents": 1}, '{"number":"A","cents":1}'),
        ("find_article", {"number": "A", "json": 2}, {"number": "A", "cents": 2}, '{"number":"A","cents":2}'),
        (
            "count_stock",
            {"articles": [{"number": "A", "cents": 1}]},
            {"result": [{"number": "A", "pieces": 4}]},
            '{"result":[{"number":"A","pieces":4}]}',
        ),
        ("forget", {"numbers": ["A"]}, None, ""),
        (
            "order-all",
            {"order": {"number": "A", "parts": [{"number": "B"}]}},
            {"number": "A", "parts": [{"number": "B", "parts": []}]},
            '{"number":"A","parts":[{"number":"B","parts":[]}]}',
        ),
        ("total", {}, {"result": 3.5}, '{"result":3.5}'),
        ("empty", {}, None, ""),
    ],
)
async def test_arguments_arrive_as_parameters_and_returns_as_answers(
    tool: str, arguments: dict[str, Any], structured: object, text: str
) -> None:
    async with connect(build()) as client:
        result = await client.call_tool(tool, arguments)
    assert not result.is_error
    assert result.structured_content == structured
    assert [block.model_dump()["text"] for block in result.content] == [text]


async def test_content_is_sent_as_content() -> None:
    async with connect(build()) as client:
        result = await client.call_tool("show", {})
    blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]
    assert blocks == [
        {"type": "text", "text": "look"},
        {"type": "image", "data": base64.b64encode(b"png").decode(), "mimeType": "image/png"},
        {"type": "audio", "data": base64.b64encode(b"wav").decode(), "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "shop://a", "name": "a", "mimeType": "text/plain"},
        {
            "type": "resource",
            "resource": {"uri": "shop://b", "mimeType": "text/plain", "text": "text"},
        },
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "detail"),
    [
        ("greet", {}, "who", "is required"),
        ("greet", {"who": "Ada", "times": "2"}, "times", "value must be an integer"),
        ("greet", {"whom": "Ada", "who": "x"}, "whom", "unknown parameter, did you mean 'who'?"),
        ("find_article", {"number": "A", "json": 0}, "json", "value must be at least 1"),
        ("count_stock", {"articles": [{"number": "A", "cents": "1"}]}, "articles.0.cents", "an integer"),
        ("count_stock", {"articles": [{"number": "A", "cents": 1, "x": 1}]}, "articles.0.x", "unexpected"),
        ("count_stock", {"articles": [], "mode": "quick"}, "mode", "input should be 'fast' or 'slow'"),
    ],
)
async def test_nothing_is_coerced_and_the_field_is_named(
    tool: str, arguments: dict[str, Any], field: str, detail: str
) -> None:
    async with connect(build()) as client:
        result = await client.call_tool(tool, arguments)
    fault = read({"result": result.model_dump(mode="json", by_alias=True)}).fault
    assert fault is not None
    assert fault.kind is FaultKind.INVALID_PARAMS
    assert fault.details["field"] == field
    assert detail in str(fault.details["detail"])


def stateful(opened: list[str], *, is_broken: bool = False) -> Toolset:
    toolset = Toolset("state", version="1")

    @toolset.lifespan
    @asynccontextmanager
    async def open_log() -> AsyncIterator[Log]:
        opened.append("open")
        yield Log()
        opened.append("closed")

    @toolset.lifespan
    def open_path() -> Iterator[Path]:
        if is_broken:
            raise OSError("the password is hunter2")
        yield Path("here")

    @toolset.tool.adds
    async def note(text: str, log: Log, call: Call) -> int:
        """Add a line."""
        await call.report_progress(1, 2, "half way")
        log.lines.append(text)
        return len(log.lines)

    @toolset.tool.reads
    def where(path: Path, call: Call) -> str:
        """Say where."""
        call.report_progress_sync(1)
        return str(path)

    @toolset.resource("log://lines/{number}", title="A line", mime_type="text/x-log")
    def line(number: int, log: Log) -> str:
        """One line of the log."""
        return log.lines[number]

    @toolset.resource("log://all")
    async def lines(log: Log) -> list[str]:
        """All lines."""
        return log.lines

    @toolset.resource("log://raw/{+path}")
    def raw(path: str) -> bytes:
        """Bytes."""
        return path.encode() + b"\xff"

    @toolset.prompt(title="Summarise")
    def summarise(words: int, log: Log, style: str = "plain") -> str:
        """Ask for a summary.

        Args:
            words: How many words
        """
        return f"Summarise in {words} {style} words: {'; '.join(log.lines)}"

    return toolset


async def test_state_is_made_once_and_handed_to_whatever_asks_for_its_type() -> None:
    opened: list[str] = []
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with Client(Boundary(stateful(opened)).server) as client:
        assert (await client.call("note", {"text": "first"}, on_progress=hear)).value == {"result": 1}
        assert (await client.call("note", {"text": "second"})).value == {"result": 2}
        assert (await client.call("where", {}, on_progress=hear)).value == "here"
        assert (await client.read_resource("log://lines/1")).text == "second"
        assert (await client.read_resource("log://all")).text == '["first","second"]'
        prompt = await client.get_prompt("summarise", {"words": "3"})
        assert "Summarise in 3 plain words: first; second" in prompt.text
        with pytest.raises(Fault, match="number"):
            await client.read_resource("log://lines/x")
        with pytest.raises(Fault, match="uri: is unknown"):
            await client.read_resource("log://lines/1/2")
        assert opened == ["open"]
    assert opened == ["open", "closed"]
    assert heard == [(1, 2, "half way"), (1, None, None)]


async def test_templates_and_titles_are_listed_and_bytes_stay_bytes() -> None:
    async with connect(stateful([])) as client:
        templates = (await client.list_resource_templates()).resource_templates
        (fixed,) = (await client.list_resources()).resources
        (prompt,) = (await client.list_prompts()).prompts
        (raw,) = (await client.read_resource("log://raw/a/b%20c")).contents
    assert [(it.uri_template, it.title, it.mime_type) for it in templates] == [
        ("log://lines/{number}", "A line", "text/x-log"),
        ("log://raw/{+path}", None, "application/octet-stream"),
    ]
    assert (str(fixed.uri), fixed.description) == ("log://all", "All lines.")
    assert (prompt.title, prompt.description) == ("Summarise", "Ask for a summary.")
    asked = [(it.name, it.description, it.required) for it in prompt.arguments or []]
    assert asked == [("words", "How many words", True), ("style", "", False)]
    assert base64.b64decode(raw.model_dump()["blob"]) == b"a/b c\xff"


async def test_state_that_cannot_be_made_is_told_to_those_who_need_it_and_the_others_go_on() -> None:
    opened: list[str] = []
    async with Client(Boundary(stateful(opened, is_broken=True)).server) as client:
        with pytest.raises(Fault) as raised:
            await client.call("where", {})
        assert (await client.call("note", {"text": "first"})).value == {"result": 1}
    assert raised.value.kind is FaultKind.INTERNAL
    assert "open_path raised OSError at test_plain_tools.py:" in raised.value.message
    assert "hunter2" not in str(raised.value)
    assert opened == ["open", "closed"]


def buggy() -> Toolset:
    toolset = Toolset("bugs", version="1")

    @toolset.tool.reads
    def divide_by_zero() -> int:
        """Divide."""
        return divide(1, 0)

    @toolset.tool.reads
    async def promise_a_number() -> int:
        """Promise."""
        return "text"  # type: ignore[return-value]  # the bug

    @toolset.tool.reads
    async def promise_text() -> str:
        """Promise."""
        return 3  # type: ignore[return-value]  # the bug

    @toolset.tool.reads
    async def lose_a_number() -> list[float | None]:
        """Divide."""
        return [float("nan")]

    @toolset.tool.reads
    async def halve_a_character() -> str:
        """Decode badly."""
        return b"caf\xe9".decode(errors="surrogateescape")

    @toolset.tool.reads
    async def await_the_cancelled() -> None:
        """Wait for what somebody else has cancelled."""
        waiting: asyncio.Future[None] = asyncio.Future()
        waiting.cancel()
        await waiting

    @toolset.tool.reads
    def run_out() -> str:
        """Take the next of none."""
        return str(next(iter(())))

    return toolset


@pytest.mark.parametrize(
    ("tool", "says"),
    [
        ("divide_by_zero", "divide_by_zero raised ZeroDivisionError at whose_bug.py:5, a bug of this server"),
        ("promise_a_number", "is wrong: what it returned is not what its hint says"),
        ("promise_text", "is wrong: it returned a value of type int, but its hint says text"),
        ("lose_a_number", "is wrong: what it returned cannot be written as JSON"),
        ("halve_a_character", "is wrong: it returned text with half a character in it"),
        ("await_the_cancelled", "await_the_cancelled raised CancelledError at test_plain_tools.py"),
        ("run_out", "run_out raised "),
    ],
)
async def test_an_authors_bug_is_internal_and_says_whose(tool: str, says: str) -> None:
    async with Client(Boundary(buggy()).server) as client:
        with pytest.raises(Fault) as raised:
            await client.call(tool, {})
    assert raised.value.kind is FaultKind.INTERNAL
    assert says in raised.value.message
    assert re.search(r"\b(test_plain_tools|whose_bug)\.py:\d+", raised.value.message)
    assert "report it to the author of bugs" in str(raised.value.hint)
