"""What a server offers, and how it is declared: tools, resources, prompts, and the state they share."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypedDict, TypeVar, Unpack, overload

from faultless.contract import Dialect, Fault, Json
from faultless.kit.call import Call
from faultless.kit.functions import (
    DefinitionError,
    Function,
    check_scalars,
    read_function,
    refuse_definition,
    show_place,
)
from faultless.kit.lifespan import Open, read_lifespan
from faultless.kit.models import Answer, Arguments
from faultless.kit.results import Output

__all__ = [
    "Annotations",
    "Answer",
    "Arguments",
    "Call",
    "Output",
    "Prompt",
    "Resource",
    "TellChanged",
    "Tool",
    "Toolset",
]

F = TypeVar("F", bound=Callable[..., Any])
Run = Callable[[dict[str, Any], Call], Awaitable[Output]]
TellChanged = Callable[[], Awaitable[None]]
_MIME_TYPES = {"text": "text/plain", "bytes": "application/octet-stream"}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


@dataclass(frozen=True, slots=True)
class Annotations:
    """What a client may assume about a tool before it calls it; none has a default."""

    read_only: bool
    idempotent: bool
    destructive: bool
    open_world: bool


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. Most come from `Toolset.tool`; tools known only at run time are built by hand."""

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: Annotations
    run: Run
    """Checks the arguments, does the work, checks the result; raises Fault."""
    empty: dict[str, Json] = field(default_factory=dict)
    """Every field of the normal answer at its empty value, for dialects that repeat them on error."""
    title: str | None = None
    """Its name for people."""


@dataclass(frozen=True, slots=True)
class Resource:
    uri: str
    """With a part such as `{name}` in it, it is a template."""
    name: str
    description: str
    read: Callable[[], Json | bytes] | Function
    """Bytes are sent as they are: as text where they are UTF-8."""
    mime_type: str = "application/json"
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    description: str
    arguments: Mapping[str, str]
    """Name to description; required, unless `optional` has them."""
    render: Callable[[Mapping[str, str]], str] | Function
    optional: frozenset[str] = frozenset()
    title: str | None = None


@dataclass
class Toolset:
    """The tools one server offers, and its resources and prompts.

    The dialect is for servers whose users know another shape of fault already.
    """

    name: str
    version: str
    dialect: Dialect = Dialect.ERROR_KEY
    instructions: str = ""
    tools: dict[str, Tool] = field(default_factory=dict)
    resources: Sequence[Resource] = ()
    prompts: Sequence[Prompt] = ()
    left_out: Mapping[str, Fault] = field(default_factory=dict)
    """Tools that are defined but cannot be offered, each with the answer to whoever calls it."""
    refresh: Callable[[], Awaitable[None]] | None = None
    """Brings `tools` up to date: awaited before they are listed and before one is looked up."""
    accompany: Callable[[TellChanged], Awaitable[None]] | None = None
    """Runs beside a session until it ends; calls what it is given when the list of tools has changed."""
    lifespans: dict[Any, Open] = field(default_factory=dict)
    """By the type of what each makes."""

    def add(self, tool: Tool) -> None:
        """Offer a tool that was built by hand."""
        if tool.name in self.tools:
            raise ValueError(f"two tools are called {tool.name!r}")
        self.tools[tool.name] = tool

    @property
    def tool(self) -> Declaring:
        """Declare the function below as a tool: `@toolset.tool.reads`, `.adds` or `.changes`."""
        return Declaring(self)

    def lifespan(self, making: F) -> F:
        """Declare what is made once: a generator, with or without `async`, that yields it.

        Functions declared below that have a parameter of its type are handed it.
        """
        kind, opened = read_lifespan(making)
        if kind in self.lifespans:
            fix = "yield another type, or one object that holds both"
            refuse_definition(making, "lifespan", f"another one yields {kind.__name__} already", fix)
        self.lifespans[kind] = opened
        return making

    def resource(
        self, uri: str, *, title: str | None = None, mime_type: str | None = None
    ) -> Callable[[F], F]:
        """Declare the function below as a resource; the parts of a template, `{name}`, are its parameters."""

        def declare(function: F) -> F:
            read = read_function(function, "resource", self.lifespans)
            check_scalars(read, "resource")
            _check_address(read, uri, [resource.uri for resource in self.resources])
            kind = mime_type or _MIME_TYPES.get(read.returns.form, "application/json")
            declared = Resource(uri, read.name, read.description, read, kind, title)
            self.resources = [*self.resources, declared]
            return function

        return declare

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(self, /, *, title: str | None = None) -> Callable[[F], F]: ...
    def prompt(self, function: Any = None, /, *, title: str | None = None) -> Any:
        """Declare the function below as a prompt: it returns the text."""

        def declare(function: F) -> F:
            read = read_function(function, "prompt", self.lifespans)
            check_scalars(read, "prompt")
            if read.returns.form != "text":
                refuse_definition(function, "prompt", "it does not return text", "write -> str")
            if any(prompt.name == read.name for prompt in self.prompts):
                refuse_definition(function, "prompt", "another one has its name", "rename one of them")
            self.prompts = [*self.prompts, _make_prompt(read, title)]
            return function

        return declare(function) if function else declare


class Facts(TypedDict, total=False):
    """What may be said of a tool beside the word for what it does."""

    name: str
    title: str
    idempotent: bool
    """Whether calling it again with the same arguments changes nothing more."""
    open_world: bool
    """Whether it reaches what is not this server's own, such as the network; assumed unless denied."""


# The words say what is certain; for the rest a client must assume the worst.
_READS = Annotations(read_only=True, idempotent=True, destructive=False, open_world=True)
_ADDS = Annotations(read_only=False, idempotent=False, destructive=False, open_world=True)
_CHANGES = Annotations(read_only=False, idempotent=False, destructive=True, open_world=True)


@dataclass(frozen=True, slots=True)
class Declaring:
    """`toolset.tool`: the function below becomes a tool, with a word for what it does to the world."""

    toolset: Toolset

    @overload
    def reads(self, function: F, /) -> F: ...
    @overload
    def reads(self, /, **facts: Unpack[Facts]) -> Callable[[F], F]: ...
    def reads(self, function: Any = None, /, **facts: Unpack[Facts]) -> Any:
        """It only looks: nothing is different after the call, and it may be repeated."""
        return self._declare(function, _READS, facts)

    @overload
    def adds(self, function: F, /) -> F: ...
    @overload
    def adds(self, /, **facts: Unpack[Facts]) -> Callable[[F], F]: ...
    def adds(self, function: Any = None, /, **facts: Unpack[Facts]) -> Any:
        """It only adds: nothing that was there is lost. Called twice, it adds twice."""
        return self._declare(function, _ADDS, facts)

    @overload
    def changes(self, function: F, /) -> F: ...
    @overload
    def changes(self, /, **facts: Unpack[Facts]) -> Callable[[F], F]: ...
    def changes(self, function: Any = None, /, **facts: Unpack[Facts]) -> Any:
        """It may overwrite or remove what was there."""
        return self._declare(function, _CHANGES, facts)

    @overload
    def __call__(
        self,
        *,
        read_only: bool,
        idempotent: bool,
        destructive: bool,
        open_world: bool,
        name: str = ...,
        title: str = ...,
    ) -> Callable[[F], F]: ...
    @overload
    def __call__(self, bare: Callable[..., Any], /) -> NoReturn: ...
    def __call__(self, *bare: Callable[..., Any], **facts: Any) -> Any:
        """The long form: `@toolset.tool(read_only=…, idempotent=…, destructive=…, open_world=…)`."""
        missing = [name for name in Annotations.__slots__ if name not in facts]
        if bare or missing:
            where = f"{bare[0].__name__} ({show_place(bare[0])})" if bare else "this tool"
            raise DefinitionError(
                f"{where} must say what it does to the world: write @toolset.tool.reads, .adds or .changes; "
                f"the long form, @toolset.tool(…), lacks {', '.join(missing)}"
            )
        said = {name: facts.pop(name) for name in Annotations.__slots__}
        return self._declare(None, Annotations(**said), facts)

    def _declare(self, function: Any, word: Annotations, facts: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as the overloads say
        said = {name: facts[name] for name in ("idempotent", "open_world") if name in facts}

        def declare(function: F) -> F:
            read = read_function(function, "tool", self.toolset.lifespans, name=facts.get("name"))
            if not _NAME.fullmatch(read.name):
                fix = "rename it, or write name='…'"
                refuse_definition(function, "tool", "clients take names of a-z, 0-9, _, - and . only", fix)
            if read.name in self.toolset.tools:
                what = f"another tool is called {read.name!r}"
                refuse_definition(function, "tool", what, "rename one of them, or write name='…'")
            self.toolset.add(_make_tool(read, replace(word, **said), facts.get("title")))
            return function

        return declare(function) if function is not None else declare


def _make_tool(function: Function, annotations: Annotations, title: str | None) -> Tool:
    async def run(raw: dict[str, Any], call: Call) -> Output:
        return function.write(await function.answer(raw, call))

    return Tool(
        name=function.name,
        description=function.description,
        input_schema=function.schema,
        output_schema=function.returns.schema,
        annotations=annotations,
        run=run,
        empty=_empty_answer(function.returns.schema or {}),
        title=title,
    )


def _make_prompt(function: Function, title: str | None) -> Prompt:
    properties = function.schema.get("properties", {})
    described = {name: rule.get("description", "") for name, rule in properties.items()}
    optional = frozenset(properties) - frozenset(function.schema.get("required", ()))
    return Prompt(function.name, function.description, described, function, optional, title)


def _check_address(function: Function, uri: str, others: Sequence[str]) -> None:
    parts = set(re.findall(r"\{\+?(\w+)\}", uri))
    known = set(function.schema.get("properties", {}))
    if not re.match(r"[a-z][a-z0-9+.-]*:", uri):
        refuse_definition(
            function.run, "resource", f"{uri!r} is not an address", "write for example shop://…"
        )
    if uri in others:
        refuse_definition(function.run, "resource", f"another one is at {uri}", "give it another address")
    if parts != known:
        what = f"its address has the parts {sorted(parts)} and it has the parameters {sorted(known)}"
        refuse_definition(function.run, "resource", what, "name both alike: shop://articles/{number}")
    if function.returns.form in {"nothing", "content"}:
        refuse_definition(function.run, "resource", "it returns no text or data", "return what is in it")


_EMPTY: dict[str, Json] = {
    "array": [],
    "object": {},
    "integer": 0,
    "number": 0.0,
    "string": "",
    "boolean": False,
}


def _empty_answer(schema: dict[str, Any]) -> dict[str, Json]:
    """Every field of an answer at the value that says nothing."""
    return {name: _EMPTY.get(rule.get("type", "")) for name, rule in schema.get("properties", {}).items()}
