"""`faultless new server NAME`: a small project to begin with, with a test that runs."""

from __future__ import annotations

import keyword
import re
import sys
from pathlib import Path

import click

from faultless.contract import Fault, FaultKind

HELP = """\
Write a project to begin with.

\b
  faultless new server shop       a server of your own, with tests
  faultless toolbox new hello     a script as a tool, for the toolbox server
"""

_SERVER = '''\
"""The server {name}."""

from faultless import Fault, FaultKind, Toolset, serve

toolset = Toolset("{name}", version="1")
notes: dict[str, str] = {{}}


@toolset.tool.reads
def read_note(title: str) -> str:
    """Read a note.

    Args:
        title: Its title, as it was given to write_note
    """
    if title not in notes:
        known = ", ".join(notes) or "none yet"
        raise Fault(FaultKind.NOT_FOUND, f"there is no note {{title!r}}", hint=f"the notes are: {{known}}")
    return notes[title]


@toolset.tool.changes(idempotent=True)
def write_note(title: str, text: str) -> None:
    """Write a note, over the one of that title if there is one."""
    notes[title] = text


if __name__ == "__main__":
    serve(toolset)
'''
_TEST = '''\
"""Through a client in this process, and over the wire."""

import sys
from pathlib import Path

import pytest

import {module}
from faultless import Fault, FaultKind, SyncClient, Toolset


@pytest.fixture
def toolset() -> Toolset:
    {module}.notes.clear()
    return {module}.toolset


@pytest.fixture
def server_command() -> list[str]:
    return [sys.executable, str(Path({module}.__file__))]


def test_what_was_written_is_read(toolset_client: SyncClient) -> None:
    toolset_client.call("write_note", {{"title": "plan", "text": "water the beans"}})
    assert toolset_client.call("read_note", {{"title": "plan"}}).value == "water the beans"


def test_a_note_that_is_not_there_is_a_fault(toolset_client: SyncClient) -> None:
    with pytest.raises(Fault) as raised:
        toolset_client.call("read_note", {{"title": "plan"}})
    assert raised.value.kind is FaultKind.NOT_FOUND


def test_the_server_answers_over_the_wire(wire_client: SyncClient) -> None:
    assert [tool.name for tool in wire_client.tools()] == ["read_note", "write_note"]
'''
_CONFTEST = '''\
"""The fixtures toolset_client, wire_client and golden_answer."""

pytest_plugins = ["faultless.testing.fixtures"]
'''
_PROJECT = """\
[project]
name = "{name}"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["faultless"]

[dependency-groups]
dev = ["pytest"]

[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
include = ["{module}.py"]

[tool.pytest.ini_options]
pythonpath = ["."]
"""
_README = """\
# {name}

An MCP server.

    faultless call {module}.py:toolset write_note title=plan text='water the beans'
    faultless config claude-code {module}.py:toolset
    python -m pytest
"""
_FILES = {
    "{module}.py": _SERVER,
    "test_{module}.py": _TEST,
    "conftest.py": _CONFTEST,
    "pyproject.toml": _PROJECT,
    "README.md": _README,
}


@click.command("server", help="A server of your own, in a folder called NAME.")
@click.argument("name")
def _new_server(name: str) -> None:
    module = name.lower().replace("-", "_")
    taken = {*sys.stdlib_module_names, *keyword.kwlist, "faultless", "conftest"}
    if not re.fullmatch(r"[a-z][a-z0-9_]*", module) or module in taken:
        raise Fault(
            FaultKind.USAGE_ERROR,
            f"{name!r} cannot be the name of a module of your own",
            hint="use letters, digits and -, beginning with a letter, and no name that Python has taken",
        )
    folder = Path(name)
    if folder.exists():
        raise Fault(FaultKind.CONFLICT, f"{name} exists already", hint="choose another name, or remove it")
    folder.mkdir()
    for path, text in _FILES.items():
        place = folder / path.format(module=module)
        place.write_text(text.format(name=name, module=module), encoding="utf-8")
        click.echo(place)
    click.echo(f"next:  cd {name} && python -m pytest")


command = click.Group("new", commands={"server": _new_server}, help=HELP)
