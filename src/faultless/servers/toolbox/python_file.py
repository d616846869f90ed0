"""A Python file: every public function with type hints and a docstring is a tool."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from faultless.contract import Fault
from faultless.servers.toolbox.assembly import assemble
from faultless.servers.toolbox.definition import (
    JSON,
    TEXT,
    BrokenDefinitionError,
    Definition,
    Loaded,
    PythonFunction,
    Skipped,
)
from faultless.servers.toolbox.directives import Reader, Traits
from faultless.servers.toolbox.docstrings import read_docstring

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

# Of the directives only these make sense for a function.
_ALLOWED = frozenset({"timeout", "readonly", "idempotent", "destructive", "openworld", "env"})


async def load_python(path: Path, describe: Callable[[Path], Awaitable[dict[str, Any]]]) -> Loaded:
    """A file without candidates is not even imported: it is a script, and importing would run it."""
    loaded = Loaded()
    candidates: list[str] = []
    try:
        candidates, loaded.skipped = look_at(path)
        if candidates:
            description = await describe(path)
            _refuse_broken(description)
            _define_all(path, description, loaded)
    except BrokenDefinitionError as broken:
        reason, line = broken.reason, broken.line
    except Fault as fault:
        reason, line = fault.message, None
    else:
        return loaded
    for name in candidates or [path.stem]:
        loaded.skip(path.name, BrokenDefinitionError(reason, name=name, line=line))
    return loaded


def look_at(path: Path) -> tuple[list[str], list[Skipped]]:
    """Functions that may become tools and those that cannot, without running anything."""
    try:
        tree = ast.parse(path.read_bytes(), path.name)
    except (SyntaxError, ValueError) as broken:
        line = getattr(broken, "lineno", None)
        raise BrokenDefinitionError(f"is not Python: {getattr(broken, 'msg', broken)}", line=line) from None
    except OSError as problem:
        raise BrokenDefinitionError(f"cannot be read: {problem.strerror}") from None
    candidates: list[str] = []
    skipped: list[Skipped] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            reason = _missing(node)
            if reason:
                skipped.append(Skipped(node.name, f"{path.name}:{node.lineno}", reason))
            else:
                candidates.append(node.name)
    return candidates, skipped


def module_env(path: Path) -> tuple[str, ...]:
    """Variables that any docstring of the file names; a worker serves all of its functions."""
    tree = ast.parse(path.read_bytes(), path.name)
    holders = [
        tree,
        *(node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)),
    ]
    reader = Reader(path.parent)
    for holder in holders:
        for word, text in read_docstring(ast.get_docstring(holder) or "").directives:
            if word == "env":
                reader.take(word, text)
    return reader.traits.env


def _missing(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    if not ast.get_docstring(node):
        return "it has no docstring"
    parameters = [*node.args.args, *node.args.kwonlyargs]
    bare = next((parameter.arg for parameter in parameters if parameter.annotation is None), None)
    return f"parameter '{bare}' has no type hint" if bare else None


def _refuse_broken(description: dict[str, Any]) -> None:
    if problem := description.get("broken"):
        raise BrokenDefinitionError(
            f"cannot be imported: {problem['type']}: {problem['message']}", line=problem["line"]
        )


def _define_all(path: Path, description: dict[str, Any], loaded: Loaded) -> None:
    known = {skipped.name for skipped in loaded.skipped}
    loaded.skipped += [
        Skipped(entry["name"], path.name, entry["reason"])
        for entry in description["skipped"]
        if entry["name"] not in known
    ]
    shared = _read_directives(path, description["doc"], Traits())
    for entry in description["tools"]:
        try:
            loaded.definitions.append(_define(path, entry, shared))
        except BrokenDefinitionError as broken:
            loaded.skip(path.name, BrokenDefinitionError(broken.reason, name=entry["name"]))


def _define(path: Path, entry: dict[str, Any], shared: Traits) -> Definition:
    docstring = read_docstring(entry["doc"])
    schema = entry["input_schema"]
    for name, rule in schema["properties"].items():
        if docstring.parameters.get(name):
            rule.setdefault("description", docstring.parameters[name])
    traits = _read_directives(path, entry["doc"], shared)
    traits = Traits(
        annotations=traits.annotations,
        timeout_seconds=traits.timeout_seconds,
        env=module_env(path),
        output=TEXT if entry["form"] == "text" else JSON,
        output_schema=entry["output_schema"],
    )
    action = PythonFunction(
        path, entry["name"], returns_text=entry["form"] == "text", wraps_result=entry["form"] == "wrapped"
    )
    return assemble(
        entry["name"], docstring.description, source=path.name, action=action, schema=schema, traits=traits
    )


def _read_directives(path: Path, text: str, start: Traits) -> Traits:
    reader = Reader(path.parent, start)
    for word, rest in read_docstring(text).directives:
        if word not in _ALLOWED:
            raise BrokenDefinitionError(
                f"@{word} is not for functions; these are: {', '.join(sorted(_ALLOWED))}"
            )
        reader.take(word, rest)
    return reader.traits
