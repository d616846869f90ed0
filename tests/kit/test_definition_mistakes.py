"""What cannot work is refused where it is declared, in a sentence with the name, the place and the fix."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from faultless import Arguments, Call, Image, Toolset
from faultless.kit.functions import DefinitionError

toolset = Toolset("mistakes", version="1")


class Model(Arguments):
    text: str


class Kept:
    pass


def no_docstring(a: int) -> int:
    return a


def no_return_hint(a: int):  # type: ignore[no-untyped-def]  # noqa: ANN201 - the mistake
    """Do it."""


def no_hint(a, b: int) -> int:  # type: ignore[no-untyped-def]  # noqa: ANN001 - the mistake
    """Do it."""
    return b


def starred(*names: str) -> None:
    """Do it."""


def double_starred(**names: str) -> None:
    """Do it."""


def positional(a: int, /) -> None:
    """Do it."""


def mutable_default(names: list[str] = []) -> None:  # noqa: B006 - the mistake
    """Do it."""


def none_default(count: int = None) -> None:  # type: ignore[assignment]  # noqa: RUF013 - the mistake
    """Do it."""


def wrong_default(mode: Literal["a", "b"] = "c") -> None:  # type: ignore[assignment]  # the mistake
    """Do it."""


def bad_default_value(count: Annotated[int, Field(ge=1)] = 0) -> None:
    """Do it."""


def connection(db: sqlite3.Connection) -> None:
    """Do it."""


def callback(then: Callable[[], None]) -> None:
    """Do it."""


def returns_connection() -> sqlite3.Connection:
    """Do it."""
    raise NotImplementedError


def returns_bytes() -> bytes:
    """Do it."""
    return b""


def returns_stream() -> Iterator[str]:
    """Do it."""
    return iter(())


def yields() -> Iterator[str]:
    """Do it."""
    yield ""


async def yields_async() -> AsyncIterator[str]:
    """Do it."""
    yield ""


def unknown_name(a: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821 - the mistake
    """Do it."""


def hidden_image() -> dict[str, Image]:
    """Do it."""
    return {}


def model_and_more(arguments: Model, more: int) -> None:
    """Do it."""


def größe(a: int) -> None:  # noqa: PLC2401 - the mistake
    """Do it."""


class Holder:
    def method(self, a: int) -> None:
        """Do it."""


@pytest.mark.parametrize(
    ("function", "says", "fix"),
    [
        (no_docstring, "it has no docstring", "say in one what it does"),
        (no_return_hint, "it does not say what it returns", "-> None"),
        (no_hint, "parameter 'a' has no type hint", "write for example a: str"),
        (starred, "it takes *names", "name every parameter"),
        (double_starred, "it takes **names", "name every parameter"),
        (positional, "'a' cannot be given by name", "remove the /"),
        (mutable_default, "the default of 'names' is one list that all calls would share", "names: … | None"),
        (none_default, "the default of 'count', None, is not int", "write count: int | None"),
        (wrong_default, "the default of 'mode', 'c', is not Literal['a', 'b']", "use a default"),
        (bad_default_value, "the default of 'count', 0, is not", "use a default"),
        (connection, "parameter 'db' has the type Connection, which JSON cannot carry", "lifespan"),
        (callback, "parameter 'then' has the type Callable[[], None], which JSON", "take a str"),
        (returns_connection, "it returns Connection, which cannot be written as JSON", "return a str"),
        (returns_bytes, "it returns bytes", "return an Image"),
        (returns_stream, "it returns Iterator[str], which comes piece by piece", "return a list"),
        (yields, "it yields", "return a list"),
        (yields_async, "it yields", "return a list"),
        (unknown_name, "its type hints cannot be read (name 'Nowhere' is not defined)", "top of the file"),
        (hidden_image, "with content inside an object", "return content by itself"),
        (model_and_more, "'arguments' holds all arguments, but there is 'more' too", "put every argument"),
        (größe, "clients take names of a-z, 0-9, _, - and . only", "name='…'"),
        (Holder.method, "it is declared inside a class", "declare a function"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_mistake_names_the_function_its_place_and_the_fix(
    function: Callable[..., Any], says: str, fix: str
) -> None:
    with pytest.raises(DefinitionError) as raised:
        toolset.tool.reads(function)
    said = str(raised.value)
    place = f"tests/kit/test_definition_mistakes.py:{function.__code__.co_firstlineno}"
    assert said.startswith(f"{function.__name__} ({place}) cannot be a tool: ")
    assert says in said
    assert fix in said
    assert toolset.tools == {}


def test_a_tool_without_a_word_is_told_the_words() -> None:
    def bare(a: int) -> int:
        """Do it."""
        return a

    with pytest.raises(
        DefinitionError, match=r"bare \(.*\) must say .* @toolset.tool.reads, .adds or .changes"
    ):
        toolset.tool(bare)


def test_what_is_not_a_function_cannot_be_a_tool() -> None:
    for other in (Holder, 3, print, staticmethod(no_hint)):
        with pytest.raises(DefinitionError, match="it is not a function"):
            toolset.tool.reads(other)  # type: ignore[type-var]  # the mistake


def test_two_tools_resources_or_prompts_cannot_have_one_name() -> None:
    double = Toolset("double", version="1")

    def twice() -> str:
        """Do it."""
        return ""

    double.tool.reads(twice)
    double.resource("x://a")(twice)
    double.prompt(twice)
    with pytest.raises(
        DefinitionError, match=r"twice \(.*\) cannot be a tool: another tool is called 'twice'"
    ):
        double.tool.reads(twice)
    with pytest.raises(DefinitionError, match="another one is at x://a"):
        double.resource("x://a")(twice)
    with pytest.raises(DefinitionError, match="another one has its name"):
        double.prompt(twice)
    double.tool.reads(name="thrice")(twice)
    assert list(double.tools) == ["twice", "thrice"]


def test_a_lifespan_says_what_it_yields_and_takes_nothing() -> None:
    other = Toolset("state", version="1")

    def not_said():  # type: ignore[no-untyped-def]  # noqa: ANN202 - the mistake
        yield Kept()

    def not_yielding() -> Kept:
        return Kept()

    def plain_dict() -> Iterator[dict[str, int]]:
        yield {}

    def asking(name: str) -> Iterator[Kept]:
        yield Kept()

    def kept() -> Iterator[Kept]:
        yield Kept()

    mistakes: list[tuple[Callable[..., Any], str]] = [
        (not_said, "it does not say what it yields"),
        (not_yielding, "it does not yield"),
        (plain_dict, "it yields dict[str, int], which a client may send, too"),
        (asking, "it has parameters"),
    ]
    for function, says in mistakes:
        with pytest.raises(DefinitionError) as raised:
            other.lifespan(function)
        assert says in str(raised.value)
    other.lifespan(kept)
    with pytest.raises(DefinitionError, match="another one yields Kept already"):
        other.lifespan(kept)


def test_addresses_and_prompts_are_checked_against_their_functions() -> None:
    other = Toolset("other", version="1")

    def one(number: int, call: Call) -> str:
        """Do it."""
        return str(number)

    def many(numbers: list[int]) -> str:
        """Do it."""
        return ""

    def nothing() -> None:
        """Do it."""

    mistakes: list[tuple[str, Callable[..., Any], str]] = [
        ("x://{n}", one, "its address has the parts ['n'] and it has the parameters ['number']"),
        ("just/{number}", one, "'just/{number}' is not an address"),
        ("x://{numbers}", many, "parameter 'numbers' comes as text and cannot become array"),
        ("x://a", nothing, "it returns no text or data"),
    ]
    for uri, function, says in mistakes:
        with pytest.raises(DefinitionError) as raised:
            other.resource(uri)(function)
        assert says in str(raised.value)
    with pytest.raises(DefinitionError, match="it does not return text"):
        other.prompt(nothing)
    other.resource("x://{number}")(one)
