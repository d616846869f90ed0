"""Five public servers from PyPI and npm: what each really answered, and what the client made of it.

`python -m bench client_servers` writes docs/reference/public-servers.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from bench.client_corpus import CORPORA, summarise
from bench.figures import table
from bench.peers import PEERS, ROOT, environment
from faultless.client import Client, RetryPolicy
from faultless.contract import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = ROOT / "docs" / "reference" / "public-servers.md"
NPM = {
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    "@modelcontextprotocol/server-everything": "2026.8.31",
}
TIMEOUT_SECONDS = 120.0
LONGEST_CELL = 160
INTRODUCTION = """\
# Public servers

<!-- Written by `python -m bench client_servers`; run that instead of editing. -->

{corpora}
A set is labelled by hand before the reader sees it: is it a fault at all, how sure can one be, and which
kind would a person give. Right means the certainty and the kind, or another kind that the label allows
(about a quarter of the faults have one: an unknown time zone is a bad argument to one person, and not found
to another). *At first* is the share that came out right when the set was read for the first time: the first
with the tables as they were before it, each later one with tables that had seen only the sets before. *Now*
is the share today; what is still wrong says so in its vector (`gap`), and what was wrong at first as well
(`first_read`). No good answer was ever raised as a fault. Nothing follows from prose (no retry, no
fallback, no outcome), so a wrong kind misleads a person, not the client.

The answers are vectors in [spec/vectors](../../spec/README.md), tested with every change. To collect them
again: `python -m bench client_corpus`. It installs each server below `.bench/`, in an environment of its
own, makes the calls of `bench/client_corpus.toml`, and keeps the label of every answer that has not
changed; paths are replaced, no account is used, and most services these servers speak to could not be
reached.

## Five of them, call by call

What five public servers answered to the same calls, and what the client made of it. "Unchecked" is the
bad argument sent past the client's own check, to see what the server says; with the check on, every one of
them is `invalid_params` before anything is sent.
"""


@dataclass(frozen=True, slots=True)
class PublicServer:
    name: str
    version: str
    command: Callable[[Path], list[str]]
    """From a working folder."""
    tool: str
    good: Callable[[Path], dict[str, Any]]
    bad: Callable[[Path], dict[str, Any]]
    failing: Callable[[Path], dict[str, Any]]
    """Arguments that fit the schema and cannot be served."""


@dataclass(slots=True)
class Row:
    case: str
    answered: str = "nothing"
    made: str = ""
    kind: str | None = None
    """Of the fault; None for a reply."""


@dataclass(slots=True)
class Findings:
    server: PublicServer
    rows: list[Row] = field(default_factory=list)
    starts: int = 0


def _python(program: str, *words: str) -> list[str]:
    interpreter = environment("public-servers", "requirements/public-servers.txt")
    return [str(interpreter.with_name(program)), *words]


def _node(package: str, *words: str) -> list[str]:
    home = PEERS / "npm"
    if not (home / "node_modules" / package).exists():
        pinned = [f"{name}@{version}" for name, version in NPM.items()]
        options = ["--silent", "--no-audit", "--no-fund", "--no-package-lock", "--prefix", str(home)]
        home.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", *options, *pinned], check=True)
    return ["node", str(home / "node_modules" / package / "dist" / "index.js"), *words]


def _make_repository(folder: Path) -> Path:
    if not (folder / ".git").exists():
        subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    return folder


SERVERS = [
    PublicServer(
        "mcp-server-time",
        "2026.10.10",
        lambda _: _python("mcp-server-time", "--local-timezone", "UTC"),
        "get_current_time",
        lambda _: {"timezone": "Europe/Berlin"},
        lambda _: {"timezone": 5},
        lambda _: {"timezone": "Mars/Olympus"},
    ),
    PublicServer(
        "mcp-server-git",
        "2026.10.10",
        lambda folder: _python("mcp-server-git", "--repository", str(_make_repository(folder))),
        "git_status",
        lambda folder: {"repo_path": str(folder)},
        lambda _: {"repo_path": 5},
        lambda folder: {"repo_path": str(folder / "nowhere")},
    ),
    PublicServer(
        "mcp-server-sqlite",
        "2025.4.25",
        lambda folder: _python("mcp-server-sqlite", "--db-path", str(folder / "data.db")),
        "read_query",
        lambda _: {"query": "SELECT 1 AS one"},
        lambda _: {"query": 5},
        lambda _: {"query": "SELECT * FROM nowhere"},
    ),
    PublicServer(
        "server-filesystem",
        NPM["@modelcontextprotocol/server-filesystem"],
        lambda folder: _node("@modelcontextprotocol/server-filesystem", str(folder)),
        "list_directory",
        lambda folder: {"path": str(folder)},
        lambda _: {"path": 5},
        lambda _: {"path": "/etc"},
    ),
    PublicServer(
        "server-everything",
        NPM["@modelcontextprotocol/server-everything"],
        lambda _: _node("@modelcontextprotocol/server-everything", "stdio"),
        "get-sum",
        lambda _: {"a": 1, "b": 2},
        lambda _: {"a": "one", "b": 2},
        lambda _: {"a": 10**400, "b": 2},
    ),
]


async def examine(server: PublicServer) -> Findings:
    folder = Path(tempfile.mkdtemp(prefix="faultless-"))
    findings = Findings(server)
    try:
        client = Client(server.command(folder), timeout=TIMEOUT_SECONDS, retry=RetryPolicy(attempts=1))
        async with client:
            await _examine(client, findings, folder)
            findings.starts = client.starts
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return findings


async def _examine(client: Client, findings: Findings, folder: Path) -> None:
    server, rows = findings.server, findings.rows
    rows.append(await _call(client, "good call", server.tool, server.good(folder)))
    rows.append(await _call(client, "bad argument", server.tool, server.bad(folder)))
    with _unchecked(client, server.tool):
        rows.append(await _call(client, "the same, unchecked", server.tool, server.bad(folder)))
    rows.append(await _call(client, "cannot be served", server.tool, server.failing(folder)))
    rows.append(await _call(client, "unknown tool", "no_such_tool", {}))
    rows.append(await _call_and_kill(client, server, folder))
    rows.append(await _call(client, "the call after it", server.tool, server.good(folder)))


@contextmanager
def _unchecked(client: Client, name: str) -> Iterator[None]:
    """Let bad arguments past the client's own check."""
    connection = client._use_context().supervisor.current  # noqa: SLF001 - no caller should be able to do this
    if connection is None:
        raise RuntimeError("not connected")
    kept = connection.tools[name].__dict__
    kept["_input"] = None
    yield
    del kept["_input"]


async def _call(client: Client, case: str, tool: str, arguments: dict[str, Any]) -> Row:
    row = Row(case)

    def keep(response: dict[str, Any]) -> None:
        row.answered = _shorten(json.dumps(response, ensure_ascii=False))

    try:
        reply = await client.call(tool, arguments, on_response=keep)
    except Fault as fault:
        row.kind = fault.kind.value
        row.made = (
            f"`{fault.kind}` ({fault.origin}, {fault.layer}, {fault.outcome}): {_shorten(fault.message)}"
        )
    else:
        suspected = f", suspected `{reply.suspicion.kind}`" if reply.suspicion else ""
        row.made = f"a reply{suspected}"
    return row


async def _call_and_kill(client: Client, server: PublicServer, folder: Path) -> Row:
    """Kill the server before it can read the request: it is stopped first, so that the moment is certain."""
    process = client.process_id
    if process is None:
        raise RuntimeError("not running")
    os.kill(process, signal.SIGSTOP)
    rows: list[Row] = []

    async def call() -> None:
        rows.append(await _call(client, "killed in a call", server.tool, server.good(folder)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        os.kill(process, signal.SIGKILL)
    return rows[0]


def _shorten(text: str) -> str:
    line = " ".join(text.split()).replace("|", "\\|")
    return line if len(line) <= LONGEST_CELL else line[:LONGEST_CELL] + "…"


def render(found: list[Findings]) -> str:
    """The page; working folders have other names every time."""
    return re.sub(r"/[\w/]*faultless-\w+", "FOLDER", "\n".join(_list_lines(found)))


def _list_lines(found: list[Findings]) -> list[str]:
    head = ["set", "answers, of servers", "good ones", "right at first", "right now"]
    figures = table("What the reader made of real answers", head, [summarise(name) for name in CORPORA])
    lines = [INTRODUCTION.format(corpora=figures)]
    for findings in found:
        server = findings.server
        lines += [f"### {server.name} {server.version}, `{server.tool}`", ""]
        lines += ["| call | what it answered | what the client made of it |", "|---|---|---|"]
        lines += [f"| {row.case} | `{row.answered}` | {row.made} |" for row in findings.rows]
        lines.append("")
    return lines


async def examine_all() -> list[Findings]:
    return [await examine(server) for server in SERVERS]


def main() -> None:
    page = render(anyio.run(examine_all))
    PAGE.write_text(page, encoding="utf-8")
    print(page)
