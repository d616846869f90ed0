"""Under `python -OO`, which drops docstrings, everything is written, read, listed and explained as ever."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from faultless.testing import WireClient
from tests.wire.specimen import specimen_command

REPOSITORY = Path(__file__).parents[2]
DEADLINE_SECONDS = 120

EVERY_FAULT = """
from faultless.contract import Dialect, ErrorReply, Fault, FaultKind, read, write
assert __debug__ is False and Fault.__doc__ is None
count = 0
for kind in FaultKind:
    for dialect in Dialect:
        for as_result in (False, True):
            reply = write(Fault(kind, 'm', hint='h', details={'a': 1}), dialect, as_result=as_result)
            if isinstance(reply, ErrorReply):
                response = {'error': {'code': reply.code, 'message': reply.message, 'data': reply.data}}
            else:
                response = {'result': reply.to_result()}
            fault = read(response).fault
            if fault is None or (fault.kind, fault.message, fault.hint, fault.details) != (kind, 'm', 'h', {'a': 1}):
                raise SystemExit(f'{kind} in {dialect}: {fault!r}')
            count += 1
print(count, read({'result': {'content': 'Error: rate limit exceeded'}}).suspicion.kind)
"""

EVERY_HELP = """
import click
from faultless.cli import faultless
from faultless.servers import SERVERS
def tell(command, name, parent=None):
    context = click.Context(command, parent, info_name=name)
    print(command.get_help(context) if command.help else f'{name} has no help')
    names = command.list_commands(context) if isinstance(command, click.Group) else []
    for inner in [*names, *(() if parent else SERVERS)]:
        try:
            if found := command.get_command(context, inner): tell(found, inner, context)
        except ImportError: pass  # its extra may not be installed
tell(faultless, 'faultless')
"""


def run(*arguments: str) -> str:
    finished = subprocess.run(
        [sys.executable, *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


def list_tools(*flags: str) -> list[dict[str, Any]]:
    python, *rest = specimen_command()
    with WireClient([python, *flags, *rest], cwd=REPOSITORY) as server:
        tools: list[dict[str, Any]] = server.open("handshake").request("tools/list")["result"]["tools"]
        said = server.call("echo", {"text": "x"})["result"]["structuredContent"]
    assert said == {"text": "x"}
    return tools


def test_every_fault_is_written_and_read_in_every_dialect() -> None:
    assert run("-OO", "-c", EVERY_FAULT) == "176 rate_limited\n"


def test_the_command_line_helps_with_the_same_words() -> None:
    helped = run("-OO", "-c", EVERY_HELP)

    assert helped == run("-c", EVERY_HELP)
    assert helped.count("Usage: ") > 20
    assert "no help" not in helped
    assert run("-OO", "-m", "faultless", "--help") == run("-m", "faultless", "--help")


def test_a_server_of_ours_shows_its_tools_with_the_same_words() -> None:
    shown = run("-OO", "-m", "faultless", "tools", "pytest")

    assert shown == run("-m", "faultless", "tools", "pytest")
    assert "execute_tests" in shown


def test_a_served_toolset_describes_itself_with_the_same_words() -> None:
    with_docstrings, without = list_tools(), list_tools("-OO")

    assert without == with_docstrings
    assert all(tool["description"] for tool in without)
    (echo,) = [tool for tool in without if tool["name"] == "echo"]
    assert echo["inputSchema"]["properties"]["text"]["description"] == "What to say back."


NESTED = """
from enum import StrEnum
from faultless import Answer, Arguments, Dialect, Toolset
class Colour(StrEnum):
    'As the eye sees it.'
    RED = 'red'
class Part(Answer):
    '''One of several,

    in two paragraphs.
    '''
    colour: Colour
class Whole(Answer):
    parts: list[Part]
class Nothing(Arguments): pass
def build():
    toolset = Toolset('t', version='1', dialect=Dialect.JSONRPC)
    @toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)
    async def look(arguments: Nothing) -> Whole:
        '''Look

at it.'''
    return toolset
for tool in build().tools.values(): print(repr(tool.description), tool.output_schema)
"""


def test_models_and_enumerations_inside_a_schema_keep_their_descriptions(tmp_path: Path) -> None:
    script = tmp_path / "nested.py"
    script.write_text(NESTED)

    without = run("-OO", str(script))

    assert without == run(str(script))
    assert "As the eye sees it." in without
    assert "One of several," in without
    assert "'Look\\n\\nat it.'" in without


def test_a_tool_without_a_source_has_no_description_and_is_served_all_the_same() -> None:
    assert run("-OO", "-c", NESTED).startswith("''")
