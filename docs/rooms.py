"""The pictures on docs/architecture.md, drawn from the code so that they cannot go stale."""
# ruff: noqa: INP001 - a module among the pages it draws for

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "faultless"
ROOMS = {
    "contract": "what a fault is, how it is written, how it is read",
    "durable": "files that survive kill -9",
    "process": "supervised commands, warm interpreters",
    "approval": "what a person approved",
    "kit": "toolset, boundary, stdio, root, log",
    "servers": "pytest, symbolic, toolbox, obsidian, gmail",
    "client": "a verdict or one Fault from any server",
    "testing": "clients, golden files and fixtures for people's tests",
    "outbox": "approved drafts leave, at most once",
    "cli": "the faultless command",
}


def find_directions() -> set[tuple[str, str]]:
    """Which room imports which, as the code has it."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in _list_imports(node):
                parts = name.split(".")
                if parts[0] == "faultless" and len(parts) > 1 and parts[1] in ROOMS and parts[1] != room:
                    found.add((room, parts[1]))
    return {(above, below) for above, below in found if above in ROOMS}


def _list_imports(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def draw_rooms() -> str:
    """Mermaid; an arrow points to what a room stands on, and only to the nearest."""
    directions = find_directions()
    below = {room: {lower for upper, lower in directions if upper == room} for room in ROOMS}
    lines = ["```mermaid", "flowchart BT"]
    lines += [f'    {room}["<b>{room}</b><br/>{words}"]' for room, words in ROOMS.items()]
    for room, lowers in below.items():
        reached = {further for lower in lowers for further in _reach(lower, below)}
        lines += [f"    {room} --> {lower}" for lower in sorted(lowers - reached)]
    return "\n".join([*lines, "```"])


def _reach(room: str, below: dict[str, set[str]]) -> set[str]:
    return below[room] | {further for lower in below[room] for further in _reach(lower, below)}


# The path of a call: where it is, the name there, and what happens. A test holds every name to the code.
STEPS = (
    ("kit/frames.py", "Incoming", "a line becomes a message; what is not one is answered on the spot"),
    ("kit/stdio.py", "Connection", "which requests are running, and how the connection ends"),
    ("kit/server.py", "Boundary", "finds the tool, runs it, and turns whatever is raised into a fault"),
    ("kit/models.py", "parse_arguments", "arguments become a typed input, or `invalid_params`"),
    ("servers/pytest/toolset.py", "build_toolset", "the tool: a function from its input to a verdict"),
    ("servers/pytest/execution.py", "execute", "what to run, and how the run's end becomes an answer"),
    ("servers/pytest/session.py", "run_session", "one run of pytest: its pipes, its record, its deadline"),
    ("process/child.py", "start", "hands the command to a supervisor, with its pipes"),
    ("process/session.py", "RunSession", "keeps its streams moving, learns how it ended"),
    ("process/target/supervisor.py", "Run", "another process: the deadline, and the kill of the whole tree"),
    (
        "servers/pytest/record.py",
        "Record",
        "fed all along by a pipe from the worker inside pytest, line by line",
    ),
    ("servers/pytest/outputs.py", "TestRun", "the verdict"),
    ("kit/results.py", "Returns", "proves that the verdict is what the tool promised"),
    (
        "contract/dialects.py",
        "write",
        "called by Boundary: a tool's fault in the toolset's dialect, any other as a JSON-RPC error",
    ),
    ("kit/frames.py", "Outgoing", "what the SDK made a message becomes bytes, whole frames only"),
)


def draw_call() -> str:
    lines = ["```mermaid", "flowchart TD"]
    for number, (path, name, words) in enumerate(STEPS):
        lines.append(f'    s{number}["<b>{path}</b> {name}<br/>{words}"]')
    lines += [f"    s{number} --> s{number + 1}" for number in range(len(STEPS) - 3)]
    last = len(STEPS) - 1
    lines += [f"    s{last - 2} --> s{last}", f"    s{last - 1} --> s{last}"]
    lines += [f"    s{number} -. Fault .-> s{last - 1}" for number in (3, 5, 8)]
    return "\n".join([*lines, "```"])


def list_missing_names() -> list[str]:
    """Steps whose module or name is not in the code any more."""
    missing = []
    for path, name, _words in STEPS:
        file = SOURCE / path
        tree = ast.parse(file.read_text(encoding="utf-8")) if file.is_file() else ast.Module([], [])
        defined = {node.name for node in ast.walk(tree) if hasattr(node, "name") and node.name}
        if name not in defined:
            missing.append(f"{path}: {name}")
    return missing
