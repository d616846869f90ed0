"""The reference of what people import, written from signatures and docstrings."""
# ruff: noqa: INP001 - a module among the pages it writes

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

import faultless
from faultless import testing
from faultless.contract import Fault
from faultless.kit import functions, serving, toolset
from faultless.testing import fixtures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEAD = """\
# The names of the kit

<!-- Written by `make docs` from the code; edit the docstrings there. -->

What a server of your own needs. The [tutorial](../tutorials/server.md) shows it at work; the client has
[a page of its own](../client.md).
"""
SECTIONS: dict[str, list[tuple[str, Any]]] = {
    "Declaring": [
        ("Toolset", faultless.Toolset),
        ("toolset.tool", toolset.Declaring),
        ("DefinitionError", functions.DefinitionError),
        ("Facts", toolset.Facts),
        ("Tool", toolset.Tool),
        ("Annotations", toolset.Annotations),
    ],
    "In a tool": [
        ("Call", faultless.Call),
        ("Fault", Fault),
        ("Arguments", faultless.Arguments),
        ("Answer", faultless.Answer),
    ],
    "Content": [
        ("Image", faultless.Image),
        ("Audio", faultless.Audio),
        ("ResourceLink", faultless.ResourceLink),
        ("EmbeddedResource", faultless.EmbeddedResource),
    ],
    "Serving": [("serve", faultless.serve), ("ServeOptions", serving.ServeOptions)],
    "Testing: `faultless.testing`": [
        ("memory_client", testing.memory_client),
        ("async_memory_client", testing.async_memory_client),
        ("connect", testing.connect),
        ("WireClient", testing.WireClient),
        ("golden", testing.golden),
    ],
    'Fixtures: `pytest_plugins = ["faultless.testing.fixtures"]`': [
        ("toolset_client", fixtures.toolset_client),
        ("wire_client", fixtures.wire_client),
        ("golden_answer", fixtures.golden_answer),
    ],
}


def render_api() -> str:
    parts = [HEAD]
    for title, entries in SECTIONS.items():
        parts.append(f"\n## {title}\n")
        for name, entry in entries:
            parts.append("\n".join(_render(name, entry)))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def _render(name: str, entry: Any) -> Iterator[str]:  # noqa: ANN401 - whatever people import
    yield f"### {name}\n"
    if inspect.isclass(entry):
        if inspect.isfunction(vars(entry).get("__init__")) and not dataclasses.is_dataclass(entry):
            yield f"```python\n{_sign(entry.__init__, name)}\n```\n"
        yield f"{_describe(entry)}\n"
        yield from _list_fields(entry)
        yield from _list_methods(entry)
    else:
        function = inspect.unwrap(getattr(entry, "_get_wrapped_function", lambda: entry)())
        yield f"```python\n{_sign(function, name)}\n```\n"
        yield f"{_describe(function)}\n"


def _describe(entry: Callable[..., Any] | type) -> str:
    return inspect.cleandoc(entry.__doc__ or "") or "(no words needed)"


def _sign(function: Callable[..., Any], name: str | None = None) -> str:
    """As it stands in the source, which is how people write it."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    (node,) = [it for it in tree.body if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef)]
    node.args.args = [argument for argument in node.args.args if argument.arg != "self"]
    node.args.posonlyargs = [argument for argument in node.args.posonlyargs if argument.arg != "self"]
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    is_made = node.name == "__init__"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and not is_made else ""
    shown = name if name and name.isidentifier() else node.name
    return f"{prefix}{shown}({ast.unparse(node.args)}){returns}"


def _list_fields(entry: type) -> Iterator[str]:
    """With the docstring below each, which Python itself forgets."""
    is_data = dataclasses.is_dataclass(entry) or hasattr(entry, "__required_keys__")
    if not is_data or issubclass(entry, BaseModel):
        return
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(entry))).body
    assert isinstance(node, ast.ClassDef)  # noqa: S101 - it is a class
    rows = [
        (item, following)
        for item, following in zip(node.body, [*node.body[1:], None], strict=True)
        if isinstance(item, ast.AnnAssign) and not ast.unparse(item.target).startswith("_")
    ]
    for item, following in rows:
        default = (
            ""
            if item.value is None or "field(" in ast.unparse(item.value)
            else f" = {ast.unparse(item.value)}"
        )
        words = ""
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            words = ": " + inspect.cleandoc(str(following.value.value)).replace("\n", " ")
        yield f"- `{ast.unparse(item.target)}: {ast.unparse(item.annotation)}{default}`{words}"
    if rows:
        yield ""


def _list_methods(entry: type) -> Iterator[str]:
    for name, member in vars(entry).items():
        function = member.fget if isinstance(member, property) else member
        is_shown = not name.startswith("_") or name == "__call__"
        if (
            is_shown
            and inspect.isfunction(function)
            and function.__doc__
            and function.__module__.startswith("faultless")
        ):
            first = inspect.cleandoc(function.__doc__).replace("\n\n", "  \n").replace("\n", " ")
            yield (
                f"- `.{name}`: {first}"
                if isinstance(member, property)
                else f"- `.{_sign(function)}`: {first}"
            )
    yield ""
