"""A Python file: every public function with type hints and a docstring is a tool."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from faultless.contract import Fault
from faultless.kit.docstrings import read_docstring
from faultless.servers.toolbox.definition import (
    JSON,
    TEXT,
    BrokenDefinitionError,
    Definition,
    Loaded,
    PythonFunction,
    Skipped,
    Traits,
    define_tool,
)
from faultless.servers.toolbox.directives import Reader

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

# Of the directives only these make sense for a function.
_ALLOWED = frozenset({"timeout", "readonly", "idempotent", "destructive", "openworld", "env", "group"})


async def load_python(path: Path, describe: Callable[[Path], Awaitable[dict[str, Any]]]) -> Loaded:
    """A file without candidates is not even imported: it is a script, and importing would run it."""
    loaded = Loaded()
    candidates: list[str] = []
    try:
        candidates, loaded.skipped = _find_candidates(path)
        if candidates:
            _define_all(path, await describe(path), loaded)
    except BrokenDefinitionError as broken:
        reason, line = broken.reason, broken.line
    except Fault as fault:
        reason, line = fault.message, None
    else:
        return loaded
    for name in candidates or [path.stem]:
        loaded.skip(path.name, BrokenDefinitionError(reason, name=name, line=line))
    return loaded


def _find_candidates(path: Path) -> tuple[list[str], list[Skipped]]:
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
            reason = _find_omission(node)
            if reason:
                skipped.append(Skipped(node.name, f"{path.name}:{node.lineno}", reason))
            else:
                candidates.append(node.name)
    return candidates, skipped


def read_module_env(path: Path) -> tuple[str, ...]:
    """Variables that any docstring of the file names; a worker serves all of its functions."""
    tree = ast.parse(path.read_bytes(), path.name)
    holders = [
        tree,
        *(node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)),
    ]
    reader = Reader(path.parent)
    for holder in holders:
        for word, text in read_docstring(ast.get_docstring(holder) or "", has_directives=True).directives:
            if word == "env":
                reader.take(word, text)
    return reader.traits.env


def _find_omission(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    if not ast.get_docstring(node):
        return "it has no docstring"
    parameters = [*node.args.args, *node.args.kwonlyargs]
    bare = next((parameter.arg for parameter in parameters if parameter.annotation is None), None)
    return f"parameter '{bare}' has no type hint" if bare else None


def _define_all(path: Path, description: dict[str, Any], loaded: Loaded) -> None:
    if problem := description.get("broken"):
        reason = f"cannot be imported: {problem['type']}: {problem['message']}"
        raise BrokenDefinitionError(reason, line=problem["line"])
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
    docstring = read_docstring(entry["doc"], has_directives=True)
    schema = entry["input_schema"]
    for name, rule in schema["properties"].items():
        if docstring.parameters.get(name):
            rule.setdefault("description", docstring.parameters[name])
    traits = replace(
        _read_directives(path, entry["doc"], shared),
        env=read_module_env(path),
        output=TEXT if entry["form"] == "text" else JSON,
        output_schema=entry["output_schema"],
    )
    action = PythonFunction(
        path, entry["name"], returns_text=entry["form"] == "text", wraps_result=entry["form"] == "wrapped"
    )
    return define_tool(
        entry["name"], docstring.description, source=path.name, action=action, schema=schema, traits=traits
    )


def _read_directives(path: Path, text: str, start: Traits) -> Traits:
    reader = Reader(path.parent, start)
    for word, rest in read_docstring(text, has_directives=True).directives:
        if word not in _ALLOWED:
            raise BrokenDefinitionError(
                f"@{word} is not for functions; these are: {', '.join(sorted(_ALLOWED))}"
            )
        reader.take(word, rest)
    return reader.traits
