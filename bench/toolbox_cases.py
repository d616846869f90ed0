"""The table of bad inputs, put to the toolbox and, as far as they apply, to a fastmcp server.

Ours must give the exact answer that the table prescribes. Of the peer only this is asked: that a fault is
declared, that it names the parameter where one is wrong, and that the server lives on.
"""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bench.peers import environment
from faultless.contract import read
from faultless.testing import WireClient
from tests.servers.toolbox import conftest
from tests.servers.toolbox.cases import CASES, Case
from tests.servers.toolbox.test_bad_inputs import complaints

PEER = Path(__file__).parent / "servers" / "fast_cases.py"
TOOLS = (
    *("typed", "strict", "py_typed", "fail", "die", "hang", "py_raise", "py_exit", "py_quit", "py_crash"),
    *("py_hang", "py_wrong", "py_cycle", "py_nan", "nobody_knows"),
)
OURS_ALONE = {"permission_denied"}
"""Roots are our idea; the peer was told of none."""
PATIENCE_SECONDS = 5.0


def count_ours() -> str:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root.mkdir()
        (root / "notes.txt").write_text("one\ntwo\n")
        command = conftest.serve_command(conftest.copy_specimen(Path(folder, "tools")), root)
        with WireClient(command, cwd=root, env=conftest.environment()) as client:
            client.open("handshake")
            right = sum(not complaints(case, client.call(case.tool, case.arguments)) for case in CASES)
    return f"{right} of {len(CASES)}"


def applying() -> Iterator[Case]:
    for case in CASES:
        path = str(case.arguments.get("path", ""))
        about_paths = case.kind in OURS_ALONE or path.startswith("-") or "\0" in path
        if case.tool in TOOLS and not about_paths:
            yield case


def grade_peer() -> tuple[str, list[str]]:
    """How many are right, and a sentence for each that is not."""
    wrong: list[str] = []
    cases = list(applying())
    for case in cases:  # a server each: some of them kill it
        command = [str(environment("fastmcp")), str(PEER)]
        with WireClient(command, deadline_seconds=60) as client:
            client.open("handshake")
            client.request("tools/list")
            client.deadline_seconds = PATIENCE_SECONDS
            problem = find_problem(client, case)
        if problem:
            wrong.append(f"{case.sentence}: {problem}")
    return f"{len(cases) - len(wrong)} of {len(cases)}", wrong


def find_problem(client: WireClient, case: Case) -> str | None:
    try:
        reading = read(client.call(case.tool, case.arguments))
    except TimeoutError:
        return f"no answer within {PATIENCE_SECONDS:.0f} s"
    except (EOFError, OSError):
        return "the server died"
    if reading.fault is None:
        return "a success"
    field = case.message.removeprefix("Invalid params: ").split(":", 1)[0].split(".")[0]
    if case.kind == "invalid_params" and field not in reading.fault.message:
        return f"the fault does not name {field}"
    with suppress(TimeoutError, EOFError, OSError):
        client.request("ping")
        return None
    return "the server is dead or stuck afterwards"
