"""Reading the code as text: syntax, the early allow and block lists, and which function is meant.

The lists only give clear messages early; what code can really do is decided by the sandbox.
"""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass

from .protocol import Refusal

Function = ast.FunctionDef | ast.AsyncFunctionDef


def split_names(text: str) -> frozenset[str]:
    """Long lists of names are written as running text."""
    return frozenset(text.split())


ALLOWED_MODULES = split_names(
    """
    __future__ abc annotated_types array base64 binascii bisect calendar cmath collections colorsys
    contextlib copy dataclasses datetime deal decimal difflib enum fractions functools graphlib hashlib
    heapq hmac html icontract ipaddress itertools json keyword math numbers operator random re secrets
    statistics string struct textwrap time types typing typing_extensions unicodedata urllib uuid zlib
    zoneinfo
    """
)
_ALLOWED_SUBMODULES = split_names("collections.abc urllib.parse html.entities json.decoder json.encoder")
BLOCKED_MODULES = split_names(
    """
    os posix nt sys subprocess socket ssl select selectors asyncio threading _thread multiprocessing
    concurrent ctypes _ctypes cffi importlib imp runpy pkgutil zipimport builtins gc inspect io _io
    pathlib shutil tempfile glob signal resource pty tty fcntl mmap pickle marshal shelve dbm sqlite3
    code codeop pdb trace traceback atexit faulthandler http ftplib smtplib webbrowser crosshair z3
    faultless faultless_symbolic_worker
    """
)
BLOCKED_CALLS = split_names("eval exec compile __import__ open input breakpoint exit quit")


@dataclass(frozen=True)
class Source:
    """Parsed code."""

    text: str
    tree: ast.Module

    def find_function(self, name: str) -> Function:
        """`f` or `Class.method`; the last definition wins, as it does when the code runs."""
        body: list[ast.stmt] = self.tree.body
        *owners, last = name.split(".")
        for owner in owners:
            classes = [node for node in body if isinstance(node, ast.ClassDef) and node.name == owner]
            if not classes:
                raise self._not_found(name)
            body = classes[-1].body
        found = [node for node in _flatten(body) if isinstance(node, Function) and node.name == last]
        if not found:
            raise self._not_found(name)
        return found[-1]

    def _not_found(self, name: str) -> Refusal:
        known = list(_function_names(self.tree))
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known[:5]
        hint = f"functions in the code: {', '.join(close)}" if close else "the code defines no function"
        return Refusal("not_found", f"Function '{name}' not found in code", hint=hint)


def read_source(text: str, allow_imports: frozenset[str] = frozenset()) -> Source:
    tree = _parse(text)
    _refuse_blocked(tree, ALLOWED_MODULES | allow_imports)
    return Source(text, tree)


def _parse(text: str) -> ast.Module:
    try:
        # compile also finds what ast.parse lets through: `return` outside a function, a duplicate argument.
        compile(text, "<code>", "exec", dont_inherit=True)
        return ast.parse(text)
    except SyntaxError as error:
        where = f" (line {error.lineno})" if error.lineno else ""
        raise Refusal(
            "parse_error",
            f"Syntax error: {error.msg}{where}",
            hint="send complete, parsable Python source",
            line=error.lineno,
            column=error.offset,
        ) from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise Refusal("parse_error", f"The code cannot be parsed: {error}") from None


def _refuse_blocked(tree: ast.Module, allowed: frozenset[str]) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                _refuse_module(alias.name, node.lineno, allowed)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise _blocked(
                    "a relative import", node.lineno, "the code has no package; send it as one file"
                )
            _refuse_module(node.module or "", node.lineno, allowed)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BLOCKED_CALLS:
            raise _blocked(f"function call: {node.func.id}", node.lineno, "analyse the pure part of the code")


def _refuse_module(name: str, line: int, allowed: frozenset[str]) -> None:
    top = name.partition(".")[0]
    if top in allowed and (top not in ALLOWED_MODULES or "." not in name or name in _ALLOWED_SUBMODULES):
        return
    if top in BLOCKED_MODULES:
        raise _blocked(f"import: {name}", line, "move input and output out of the function under analysis")
    raise _blocked(
        f"import: {name} is not on the allow list",
        line,
        f"start the server with --allow-import {top} if it is installed and pure",
    )


def _blocked(what: str, line: int, hint: str) -> Refusal:
    return Refusal("permission_denied", f"Blocked {what} (line {line})", hint=hint, line=line)


def _function_names(tree: ast.Module) -> list[str]:
    """Every function and method by dotted name, in order."""
    names: list[str] = []
    for node in _flatten(tree.body):
        if isinstance(node, Function):
            names.append(node.name)
        elif isinstance(node, ast.ClassDef):
            names.extend(f"{node.name}.{item.name}" for item in node.body if isinstance(item, Function))
    return names


def _flatten(body: list[ast.stmt]) -> list[ast.stmt]:
    """Definitions at the top, those under `if` and `try` too, never those inside functions."""
    found: list[ast.stmt] = []
    for node in body:
        found.append(node)
        for part in ("body", "orelse", "finalbody", "handlers"):
            if isinstance(node, ast.If | ast.Try | ast.With):
                for inner in getattr(node, part, []):
                    found.extend(_flatten(inner.body if isinstance(inner, ast.ExceptHandler) else [inner]))
    return found
