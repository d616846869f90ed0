"""What every client is asked to show: a call of a real server, and the words that must arrive."""

import shutil
import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTEST = ("pytest", "--root", "{folder}/project", "--python", sys.executable)
SYMBOLIC = ("symbolic",)
OBSIDIAN = ("obsidian", "--vault", "{folder}/vault")
TOOLBOX = ("toolbox", "--root", "{folder}")
AS_RESULT = ("--faults", "result")
DIVIDES = "def divide(a: int, b: int) -> int:\n    return a // b\n"


@dataclass(frozen=True)
class Case:
    name: str
    server: tuple[str, ...]
    tool: str
    words: tuple[str, ...]
    """What must arrive: of a verdict its news, of a fault its message and its hint."""
    fault: bool = False
    output: str = ""
    """Where a tool ran and failed: its own output, which is the first text block."""
    arguments: dict[str, object] = field(default_factory=dict)


def _verdict(name: str, server: tuple[str, ...], tool: str, *words: str, **arguments: object) -> Case:
    return Case(name, server, tool, words, arguments=arguments)


def _fault(name: str, server: tuple[str, ...], tool: str, *words: str, **arguments: object) -> Case:
    return Case(name, server, tool, words, fault=True, arguments=arguments)


USAGE = (
    "pytest execution failed: Invalid pytest arguments (validation failure): not found: tests/test_basket.py::test_nope",
    "discover_tests lists the tests of a path",
)
COLLECTION = (
    "1 file could not be collected: tests/test_gone.py:1: ModuleNotFoundError: No module named 'shop.nowhere'",
    "install it, or correct the import or pythonpath",
)
TIMEOUT = (
    (
        "pytest execution exceeded timeout of 10 seconds while running tests/test_stock.py::test_the_warehouse_answers, "
        "at shop/stock.py:9 in wait_for_answer"
    ),
    "find out why it waits there, or pass a larger timeout",
)
MISSING_PROGRAM = (
    "cannot start no-such-renderer: there is no such program",
    "install it, put its folder on PATH, or name it by its path",
)

CASES = [
    _verdict("pytest: green", PYTEST, "execute_tests", '"passed": 6', node_ids=["tests/test_basket.py"]),
    _verdict(
        "pytest: red",
        PYTEST,
        "execute_tests",
        '"failed": 1',
        "test_a_discount_is_taken_off",
        node_ids=["tests/test_receipt.py"],
    ),
    _fault("pytest: usage", PYTEST, "execute_tests", *USAGE, node_ids=["tests/test_basket.py::test_nope"]),
    _fault("pytest: collection", PYTEST, "execute_tests", *COLLECTION, node_ids=["tests/test_gone.py"]),
    _fault(
        "pytest: timeout", PYTEST, "execute_tests", *TIMEOUT, node_ids=["tests/test_stock.py"], timeout=10
    ),
    _fault(
        "pytest --faults result: usage",
        (*PYTEST, *AS_RESULT),
        "execute_tests",
        *USAGE,
        node_ids=["tests/test_basket.py::test_nope"],
    ),
    _fault(
        "pytest --faults result: collection",
        (*PYTEST, *AS_RESULT),
        "execute_tests",
        *COLLECTION,
        node_ids=["tests/test_gone.py"],
    ),
    _verdict(
        "symbolic: branches",
        SYMBOLIC,
        "analyze_branches",
        '"status": "complete"',
        code=DIVIDES,
        function_name="divide",
    ),
    _verdict(
        "symbolic: found",
        SYMBOLIC,
        "find_path_to_exception",
        '"status": "found"',
        code=DIVIDES,
        function_name="divide",
        exception_type="ZeroDivisionError",
    ),
    _fault(
        "symbolic: no such function",
        SYMBOLIC,
        "find_path_to_exception",
        "Function 'multiply' not found in code",
        "functions in the code: divide",
        code=DIVIDES,
        function_name="multiply",
        exception_type="ZeroDivisionError",
    ),
    _verdict("obsidian: a note", OBSIDIAN, "read_note", '"path": "Home.md"', path="Home.md"),
    _verdict("obsidian: no hits", OBSIDIAN, "search_notes", '"count": 0', query="zebra crossing"),
    _fault(
        "obsidian: no such note",
        OBSIDIAN,
        "read_note",
        "Projects/Nowhere.md does not exist",
        "list_notes or search_notes shows what there is",
        path="Projects/Nowhere.md",
    ),
    _verdict("toolbox: lines", TOOLBOX, "count_lines", "2", path="vault/Drafts/two-lines.md"),
    _verdict("toolbox: no match", TOOLBOX, "find_text", "", text="zebra crossing", path="vault/Drafts"),
    _fault("toolbox: system failure", TOOLBOX, "render", *MISSING_PROGRAM, path="x"),
    Case(
        "toolbox: tool failed",
        TOOLBOX,
        "deploy",
        (
            "deploy failed with exit code 3: deploy: no room left on the target",
            "correct what it complains about, then call again",
        ),
        fault=True,
        output="copying 3 files",
    ),
    _fault(
        "toolbox --faults result: system failure",
        (*TOOLBOX, *AS_RESULT),
        "render",
        *MISSING_PROGRAM,
        path="x",
    ),
]

DEPLOY = """#!/bin/sh
# @tool Deploy the shop
echo "copying 3 files"
echo "deploy: no room left on the target" >&2
exit 3
"""
RENDER = """
[tools.render]
description = "Draw a picture"
command = ["no-such-renderer", "{path}"]

[tools.render.parameters]
type = "object"
required = ["path"]
additionalProperties = false

[tools.render.parameters.properties]
path = { type = "string" }
"""


def lay_out(folder: Path) -> None:
    """The examples, with the faults planted that they do not have."""
    for name in ("project", "vault", "tools"):
        shutil.copytree(ROOT / "examples" / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "project/tests/test_gone.py").write_text("from shop.nowhere import gone\n")
    (folder / "vault/Drafts/two-lines.md").write_text("one\ntwo\n")
    (folder / "tools/deploy").write_text(DEPLOY)
    (folder / "tools/deploy").chmod(0o755)
    with (folder / "tools/tools.toml").open("a") as tools:
        tools.write(RENDER)


def plan_calls(folder: Path, names: Collection[str] = ()) -> list[dict[str, object]]:
    """The cases (all, or those named) as the programs read them: for each server its command and its calls."""
    cases = [case for case in CASES if not names or case.name in names]
    servers = dict.fromkeys(case.server for case in cases)
    command = [str(Path(sys.executable).with_name("faultless")), "serve"]
    return [
        {
            "command": [*command, *(part.format(folder=folder) for part in server)],
            "calls": [
                {"case": case.name, "tool": case.tool, "arguments": case.arguments}
                for case in cases
                if case.server == server
            ],
        }
        for server in servers
    ]
