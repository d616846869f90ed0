"""Hostile projects put to every server: is the answer true, does it name the cause, what is left?

ok      true, and the cause is named
vague   no false claim, but the cause is not named
!       a false green
none    no answer within the patience
+N      N processes were left running
"""

import os
import shutil
import signal
import tempfile
import time
import tomllib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.figures import table
from bench.pytest import publish, servers
from bench.pytest.servers import Competitor, text_of

PATIENCE_SECONDS = 60
MOST_CHARACTERS = 100_000
TIMEOUT_SECONDS = 20
MARK = "FAULTLESS_BENCH_MARK"
LEGEND = "ok: true and the cause named; vague: the cause not named; !: false green; none: no answer in 60 s; "
LEGEND += "+N: N processes left running."


@dataclass(frozen=True)
class Case:
    title: str
    text: str
    words: list[str]
    """Each must be in what reaches the model; alternatives are split by a bar."""
    green: bool = False
    node_ids: list[str] = field(default_factory=lambda: ["test_it.py"])


CASES = [Case(**entry) for entry in tomllib.loads(Path(__file__).with_name("cases.toml").read_text())["case"]]


def put(competitor: Competitor, case: Case) -> str:
    if case.node_ids != ["test_it.py"] and not competitor.selects:
        return "cannot select"
    root = Path(tempfile.mkdtemp())
    try:
        (root / "test_it.py").write_text(case.text)
        return _judge(competitor, case, root)
    finally:
        _kill_marked(root)
        shutil.rmtree(root, ignore_errors=True)


def _judge(competitor: Competitor, case: Case, root: Path) -> str:
    mark = {MARK: str(root)}
    with servers.serving(competitor, root, deadline_seconds=PATIENCE_SECONDS, extra=mark) as client:
        tool, arguments = competitor.ask(case.node_ids, TIMEOUT_SECONDS)
        try:
            response = client.call(tool, arguments)
        except (TimeoutError, EOFError, AssertionError, OSError):
            return "none"
        left = _count_marked(root, client.process.pid)
        text = text_of(response)
        green = competitor.says_green(response)
    verdict = (
        "ok" if case.green and green else "vague" if case.green else "!" if green else _grade(case, text)
    )
    return verdict + (f" +{left}" if left else "")


def _grade(case: Case, text: str) -> str:
    named = all(any(word in text for word in words.split("|")) for words in case.words)
    if len(text) > MOST_CHARACTERS:
        return f"{len(text) / 1e6:.0f} MB"
    return "ok" if named else "vague"


def _marked(root: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == str(root) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _count_marked(root: Path, server: int) -> int:
    """What a run left: everything marked that neither is the server nor works for it."""
    deadline = time.monotonic() + 2
    while True:
        left = [process for process in _marked(root) if process.pid != server and not _is_supervisor(process)]
        if not left or time.monotonic() > deadline:
            return len(left)


def _is_supervisor(process: psutil.Process) -> bool:
    """A server's first run is a process of its own, so what looks like a warm parent is one."""
    with suppress(psutil.Error):
        command = " ".join(process.cmdline())
        return "faultless_target" in command
    return True


def _kill_marked(root: Path) -> None:
    for process in _marked(root):
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def measure() -> str:
    competitors = servers.every()
    rows = []
    for case in CASES:
        rows.append([case.title, *(put(competitor, case) for competitor in competitors)])
        print(" · ".join(rows[-1]), flush=True)
    return (
        table("Hostile cases", ["case", *(competitor.name for competitor in competitors)], rows)
        + f"\n{LEGEND}\n"
    )


def main() -> None:
    publish("hostile", measure())
