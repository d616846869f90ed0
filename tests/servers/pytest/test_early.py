"""Runs that begin before they are asked: the answers of a new process, and no effect until somebody asks."""

from __future__ import annotations

import json
import os
import py_compile
import re
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from faultless.servers.pytest import doctor
from faultless.testing import WireClient
from tests.servers.pytest.conftest import (
    LIGHT,
    Answer,
    MemoryServer,
    ServeEarly,
    WireServer,
    WriteProject,
    begin_early,
    serving_command,
    start_of,
)
from tests.waiting import wait_until

HELD_SECONDS = 10.0
EDITS = 3


def run(server: MemoryServer, **arguments: object) -> tuple[Answer, Answer]:
    """The verdict, and how the run started."""
    response = server.call("execute_tests", arguments)
    return response["result"]["structuredContent"], start_of(response)


# ---- what an answer says


def test_the_first_run_is_cold_and_the_second_had_begun_before(serve_early: ServeEarly) -> None:
    server, _ = serve_early({"test_it.py": "def test_it(): pass"})
    verdict, start = run(server)
    assert (verdict["summary"]["passed"], start["way"]) == (1, "cold")
    assert start["why_not_better"] == "nothing has been run yet"
    server.let_begin()
    verdict, start = run(server)
    assert (verdict["summary"]["passed"], start["way"]) == (1, "early")
    assert start["stopped_before"] == "the first test"
    assert start["age_seconds"] > 0
    assert start["why_not_better"] is None


def test_a_call_may_come_while_its_run_is_still_beginning(serve_early: ServeEarly) -> None:
    server, _ = serve_early({"conftest.py": "", "test_it.py": "def test_it(): pass"})
    ways = []
    for _ in range(3):
        verdict, start = run(server)
        assert verdict["summary"]["passed"] == 1
        ways.append(start["way"])
        wait_until(server.list_runs, 60.0)
    assert ways == ["cold", "early", "early"]


def test_the_last_two_selections_begin_early_and_a_third_says_why_not(serve_early: ServeEarly) -> None:
    server, _ = serve_early(
        {"test_it.py": "def test_one(): pass\ndef test_two(): pass\ndef test_three(): assert 0"}
    )
    ids = [f"test_it.py::test_{name}" for name in ("one", "two", "three")]
    ways = []
    for node_id in (ids[0], ids[1], ids[0], ids[1]):
        ways.append(run(server, node_ids=[node_id])[1]["way"])
        server.let_begin()
    assert ways == ["cold", "cold", "early", "early"]
    verdict, start = run(server, node_ids=[ids[2]])
    assert verdict["summary"] | {"duration": 0} == {
        **dict.fromkeys(["passed", "skipped", "errors", "duration"], 0),
        "total": 1,
        "failed": 1,
    }
    assert start == {
        "way": "cold",
        "age_seconds": None,
        "stopped_before": None,
        "why_not_better": "none of the last 2 runs was of this selection",
    }
    wait_until(lambda: len(server.list_runs()) == 2)


@pytest.mark.heavy
def test_an_edit_is_in_the_next_answer_of_the_other_selection_too(serve_early: ServeEarly) -> None:
    server, root = serve_early(
        {
            "product.py": "VALUE = 0",
            "test_it.py": "import product\ndef test_one(): pass\ndef test_two(): assert product.VALUE % 2 == 0",
        }
    )
    for number in range(1, 6):
        (root / "product.py").write_text(f"VALUE = {number}  # {'x' * number}")
        assert run(server, node_ids=["test_it.py::test_one"])[0]["summary"]["passed"] == 1
        server.let_begin()
        assert run(server, node_ids=["test_it.py::test_two"])[0]["summary"]["failed"] == number % 2
        server.let_begin()


def test_no_early_means_that_nothing_begins(serve_early: ServeEarly) -> None:
    server, _ = serve_early({"test_it.py": "def test_it(): pass"}, no_early=True)
    for _ in range(2):
        verdict, start = run(server)
        assert (verdict["summary"]["passed"], start["why_not_better"]) == (1, "--no-early")
        assert server.list_runs() == []


@pytest.mark.parametrize(
    ("files", "variables", "reason"),
    [
        ({"pytest/data.txt": ""}, {}, "the project holds a module called pytest"),
        pytest.param(
            {},
            {"COVERAGE_PROCESS_START": "x"},
            "the interpreter measures coverage from its first instruction",
            marks=pytest.mark.heavy,
        ),
        pytest.param(
            {"lib/sitecustomize.py": ""},
            {"PYTHONPATH": "lib"},
            "sitecustomize is run before a run can be watched",
            marks=pytest.mark.heavy,
        ),
    ],
)
def test_what_cannot_be_watched_from_its_beginning_does_not_begin_early(
    serve_early: ServeEarly, files: dict[str, str], variables: dict[str, str], reason: str
) -> None:
    server, _ = serve_early({"test_it.py": "def test_it(): pass", **files}, **variables)
    for _ in range(2):
        verdict, start = run(server)
        assert (verdict["summary"]["passed"], start["why_not_better"]) == (1, reason)
        assert server.list_runs() == []


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"test_it.py": ""}, "yes, from the second call on"),
        ({"pytest/data.txt": ""}, "no: the project holds a module called pytest"),
    ],
)
def test_the_doctor_says_whether_runs_begin_early_and_why_not(
    write_project: WriteProject, files: dict[str, str], found: str
) -> None:
    root = write_project(files)
    (root / ".venv").symlink_to(sys.prefix)
    _, check = doctor.diagnose(root)
    assert (check.name, check.found) == ("pytest: runs begin before they are asked", found)


@pytest.mark.heavy
def test_time_counts_from_the_call(serve_early: ServeEarly) -> None:
    server, root = serve_early(
        {"pytest.ini": "[pytest]\naddopts = --junitxml=junit.xml", "test_it.py": "def test_it(): pass"}
    )
    begin_early(server, verbosity=1)
    held_since = time.monotonic()
    wait_until(lambda: time.monotonic() > held_since + HELD_SECONDS)
    verdict, start = run(server, verbosity=1)
    assert start["way"] == "early"
    printed = re.findall(r"1 passed in ([\d.]+)s", verdict["text_output"])
    assert max(float(printed[0]), verdict["summary"]["duration"]) < HELD_SECONDS < start["age_seconds"]
    (suite,) = ET.parse(root / "junit.xml").iter("testsuite")
    assert float(suite.attrib["time"]) < HELD_SECONDS


def test_a_time_out_has_its_whole_time_and_names_the_test(serve_early: ServeEarly) -> None:
    server, root = serve_early(
        {"test_it.py": "import os, time\ndef test_it():\n    if os.path.exists('hang'): time.sleep(600)"}
    )
    assert server.run(timeout=20)["summary"]["passed"] == 1
    server.let_begin()
    (root / "hang").write_text("")
    error = server.fail("execute_tests", timeout=5)
    assert "exceeded timeout of 5 seconds while running test_it.py::test_it" in error["message"]


# ---- nothing happens before somebody asks

EFFECTS = {
    "a file is written": "open(os.path.join(os.path.dirname(__file__), 'made'), 'w').close()",
    "a file is written by its descriptor": "os.close(os.open('made', os.O_CREAT | os.O_WRONLY))",
    "a folder is made": "os.mkdir('made')",
    "a file is removed": "os.path.exists('there') and os.remove('there')",
    "a file is renamed": "os.path.exists('there') and os.rename('there', 'made')",
    "a link is made": "os.path.lexists('made') or os.symlink('there', 'made')",
    "a process is started": "subprocess.run(['touch', 'made'])",
    "a shell is started": "os.system('touch made')",
    "a child is forked": "os.fork() or (open('made', 'w').close(), os._exit(0))",
    "a thread is started": "threading.Thread(target=lambda: open('made', 'w').close()).start()",
    "a database is made": "sqlite3.connect('made').execute('create table t (c)')",
    "a child is spawned": "multiprocessing.get_context('spawn').Process(target=os.mkdir, args=('made',)).start()",
    "a pipe with a name is made": "os.path.exists('made') or os.mkfifo('made')",
    "a function of the C library is called": "ctypes.CDLL(None).mkdir(b'made', 0o755)",
    "a network is asked": "socket.create_connection(('127.0.0.1', int(os.environ['ASKED_PORT'])), 5).close()",
}
FEW_EFFECTS = {
    ("a process is started", "conftest.py"),
    ("a network is asked", "test_it.py"),
    ("a child is spawned", "conftest.py"),
}


@pytest.mark.parametrize(
    ("effect", "place"),
    [
        pytest.param(effect, place, marks=() if (effect, place) in FEW_EFFECTS else pytest.mark.heavy)
        for effect in EFFECTS
        for place in ("conftest.py", "test_it.py")
    ],
)
def test_no_effect_happens_before_somebody_asks(serve_early: ServeEarly, effect: str, place: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.setblocking(False)
        code = (
            f"import ctypes, multiprocessing, os, socket, sqlite3, subprocess, threading\n{EFFECTS[effect]}\n"
        )
        files = {"conftest.py": "", "test_it.py": "def test_it(): pass", "there": ""}
        files[place] = code + files[place]
        server, root = serve_early(files, ASKED_PORT=str(door.getsockname()[1]))

        def look() -> tuple[bool, bool, int]:
            return (root / "made").exists(), (root / "there").exists(), count_visits(door)

        assert run(server)[0]["summary"]["passed"] == 1
        done = look()
        undo(root)
        server.let_begin()
        assert look() == (False, True, 0)
        verdict, start = run(server)
        assert verdict["summary"]["passed"] == 1
        assert look() == done
        assert done != (False, True, 0)
        if start["why_not_better"] is None:
            assert "effect" in start["stopped_before"] or "nothing tells of" in start["stopped_before"]


def count_visits(door: socket.socket) -> int:
    visits = 0
    while True:
        try:
            door.accept()[0].close()
        except BlockingIOError:
            return visits
        visits += 1


def undo(root: Path) -> None:
    made = root / "made"
    if made.is_dir() and not made.is_symlink():
        made.rmdir()
    else:
        made.unlink(missing_ok=True)
    (root / "there").write_text("")


def test_a_run_that_nobody_asked_for_is_killed_with_nothing_done(write_project: WriteProject) -> None:
    root = write_project(
        {
            "conftest.py": """
                import atexit, signal, sys
                def make(*_): open("made", "w").close()
                atexit.register(make)
                signal.signal(signal.SIGTERM, lambda *_: sys.exit(make()))
            """,
            "test_it.py": "def test_it(): pass",
        }
    )
    with WireClient(serving_command(root), env=LIGHT, deadline_seconds=180) as client:
        server = WireServer(client.open("handshake"))
        assert server.run()["summary"]["passed"] == 1
        (root / "made").unlink()
        server.let_begin()
        held = server.list_runs()
    wait_until(lambda: not any(process.is_running() for process in held))
    assert not (root / "made").exists()


def test_a_broken_file_is_told_once_and_the_next_run_begins_early_too(serve_early: ServeEarly) -> None:
    server, root = serve_early({"test_it.py": "import nothing_like_it"})
    for _ in range(2):
        error = server.fail("execute_tests")
        assert error["data"]["error_type"] == "collection_error"
        server.let_begin()
    (root / "test_it.py").write_text("def test_it(): pass")
    assert server.run()["summary"]["passed"] == 1


GOING_ON = {
    "an alarm clock was set": "import signal\nsignal.alarm(500)",
    "a thread was running": "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()",
}


@pytest.mark.parametrize("reason", GOING_ON)
def test_a_run_in_which_something_goes_on_is_not_held(serve_early: ServeEarly, reason: str) -> None:
    server, _ = serve_early({"conftest.py": GOING_ON[reason], "test_it.py": "def test_it(): pass"})
    run(server)
    if reason == "a thread was running" and sys.version_info >= (3, 12):
        server.let_begin()
        assert run(server)[1]["stopped_before"].startswith("its first effect: _thread.start")
    else:
        server.let_give_up()
        start = run(server)[1]
        assert (start["way"], start["why_not_better"]) == ("cold", reason)


@pytest.mark.parametrize(
    "line",
    ["NOW = datetime.datetime.now()", "class A:\n    made = datetime.date.today()", "T = time.monotonic()"],
)
def test_a_clock_is_not_read_before_somebody_asks(serve_early: ServeEarly, line: str) -> None:
    code = f"import datetime, time\n{line}\ndef test_it(): assert time.time()"
    server, _ = serve_early({"conftest.py": "", "test_it.py": code})
    begin_early(server)
    _, start = run(server)
    assert start["stopped_before"] == "test_it.py, which reads a clock"


def test_a_pipe_is_not_emptied_before_somebody_asks(serve_early: ServeEarly) -> None:
    server, root = serve_early(
        {"conftest.py": "GOT = open('../pipe').readline()", "test_it.py": "def test_it(): pass"}
    )
    os.mkfifo(root.parent / "pipe")
    pipe = os.open(root.parent / "pipe", os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(pipe, b"one\n")
        run(server)
        os.write(pipe, b"two\n")
        server.let_begin()
        verdict, start = run(server)
        assert verdict["summary"]["passed"] == 1
        assert start["stopped_before"] == "the opening of ../pipe, which is no ordinary file"
    finally:
        os.close(pipe)


def test_a_conftest_reads_no_clock_in_its_functions_either(serve_early: ServeEarly) -> None:
    conftest = "import datetime\ndef stamp(): return datetime.datetime.now()\nSTART = stamp()"
    server, _ = serve_early({"conftest.py": conftest, "test_it.py": "def test_it(): pass"})
    begin_early(server)
    assert run(server)[1]["stopped_before"] == "conftest.py, which reads a clock"


def test_a_file_that_was_looked_at_may_not_change_even_if_nobody_read_it(serve_early: ServeEarly) -> None:
    looks = "import os\nSIZE = os.path.getsize('product.py')\nimport product\ndef test_it(): assert SIZE < 10"
    server, root = serve_early({"conftest.py": "", "test_it.py": looks, "product.py": "A = 1"})
    for number in (2, 3):  # edited, it is a file to stop before
        run(server)
        server.let_begin()
        (root / "product.py").write_text(f"A = {number}")
    run(server)
    server.let_begin()
    (root / "product.py").write_text("A = 1  # and longer")
    verdict, start = run(server)
    assert verdict["summary"]["failed"] == 1
    assert start["why_not_better"] == "product.py has changed"


# ---- nothing that changed is missed

CHANGES: dict[str, tuple[dict[str, str], Callable[[Path], object]]] = {
    "a test file": ({}, lambda root: (root / "test_it.py").write_text("def test_it(): assert 0")),
    "a module": (
        {"test_it.py": "import product\ndef test_it(): assert product.VALUE == 1", "product.py": "VALUE = 1"},
        lambda root: (root / "product.py").write_text("VALUE = 2"),
    ),
    "a conftest": (
        {"conftest.py": "", "test_it.py": "def test_it(): pass"},
        lambda root: (root / "conftest.py").write_text("def pytest_runtest_call(): assert 0"),
    ),
    "a new conftest": (
        {},
        lambda root: (root / "conftest.py").write_text("def pytest_runtest_call(): assert 0"),
    ),
    "a new test file": ({}, lambda root: (root / "test_new.py").write_text("def test_new(): assert 0")),
    "the configuration": (
        {"test_it.py": "import pytest\n@pytest.mark.xfail\ndef test_it(): pass"},
        lambda root: (root / "pytest.ini").write_text("[pytest]\nxfail_strict = true"),
    ),
    "a configuration in the folder above": (
        {"pytest.ini": "", "sub/test_it.py": "import os\ndef test_it(): assert 'sub' not in os.environ"},
        lambda root: (root / "pytest.ini").write_text("[pytest]\naddopts = --definitely-not-an-option"),
    ),
    "a file of data read at import": (
        {"test_it.py": "VALUE = open('data').read()\ndef test_it(): assert VALUE == '1'", "data": "1"},
        lambda root: (root / "data").write_text("2"),
    ),
    "a file looked for at import": (
        {"test_it.py": "import os\nFOUND = os.path.exists('data')\ndef test_it(): assert not FOUND"},
        lambda root: (root / "data").write_text(""),
    ),
    "what git is in the middle of": (
        {
            "test_it.py": "import os\nFOUND = os.path.exists('.git/MERGE_HEAD')\ndef test_it(): assert not FOUND",
            ".git/HEAD": "",
        },
        lambda root: (root / ".git" / "MERGE_HEAD").write_text(""),
    ),
    "what npm has installed": (
        {
            "test_it.py": "import os\nFOUND = os.path.exists('node_modules/.bin/x')\ndef test_it(): assert not FOUND",
            "node_modules/.bin/y": "",
        },
        lambda root: (root / "node_modules" / ".bin" / "x").write_text(""),
    ),
    "a folder listed at import": (
        {
            "test_it.py": "import os\nFOUND = os.listdir('data')\ndef test_it(): assert FOUND == ['one']",
            "data/one": "",
        },
        lambda root: (root / "data" / "two").write_text(""),
    ),
    "a file whose age is asked for": (
        {
            "test_it.py": "import os\nAGE = os.stat('data').st_mtime\ndef test_it(): assert AGE > 1",
            "data": "",
        },
        lambda root: os.utime(root / "data", (1, 1)),
    ),
    "a parametrisation made of files": (
        {
            "test_it.py": """
                import glob, pytest
                @pytest.mark.parametrize("name", glob.glob("data/*"))
                def test_it(name): assert name.endswith("good")
            """,
            "data/good": "",
        },
        lambda root: (root / "data" / "bad").write_text(""),
    ),
    "a module that was missing": (
        {
            "test_it.py": """
                try: import extra
                except ImportError: extra = None
                def test_it(): assert extra is None
            """
        },
        lambda root: (root / "extra.py").write_text(""),
    ),
}
SMALL_SHARE = ("a module", "a file looked for at import")


@pytest.mark.parametrize(
    "change",
    [pytest.param(name, marks=() if name in SMALL_SHARE else pytest.mark.heavy) for name in CHANGES],
)
def test_whatever_changes_is_in_the_next_answer(serve_early: ServeEarly, change: str) -> None:
    files, make_it = CHANGES[change]
    server, root = serve_early({"test_it.py": "def test_it(): pass", **files})
    assert server.run()["exit_code"] == 0
    server.let_begin()
    make_it(root)
    response = server.call("execute_tests", {})
    if "error" in response:
        assert response["error"]["data"]["error_type"] == "usage_error"
    else:
        assert response["result"]["structuredContent"]["summary"]["failed"] == 1
        assert start_of(response)["why_not_better"] is not None


UNCHANGED: dict[str, Callable[[Path], object]] = {
    "a link made elsewhere to what is installed": lambda root: os.link(
        root / "lib" / "linked.py", root.parent / "other.py"
    ),
    "bytecode written by somebody else": lambda root: py_compile.compile(str(root / "lib" / "plain.py")),
}


@pytest.mark.parametrize(
    "change",
    [pytest.param(name, marks=pytest.mark.heavy if number else ()) for number, name in enumerate(UNCHANGED)],
)
def test_what_changes_nothing_leaves_the_run_as_it_is(
    serve_early: ServeEarly, tmp_path: Path, change: str
) -> None:
    (tmp_path / "project" / "lib").mkdir(parents=True)
    (tmp_path / "source.py").write_text("")
    os.link(tmp_path / "source.py", tmp_path / "project" / "lib" / "linked.py")
    server, root = serve_early(
        {"lib/plain.py": "", "lib/pyvenv.cfg": "", "test_it.py": "import linked, plain\ndef test_it(): pass"},
        PYTHONPATH="lib",
        PYTHONDONTWRITEBYTECODE="1",
    )
    run(server)
    server.let_begin()
    UNCHANGED[change](root)
    assert run(server)[1]["way"] == "early"


@pytest.mark.parametrize("edited", ["product.py", pytest.param("test_it.py", marks=pytest.mark.heavy)])
def test_every_edit_is_in_the_next_answer_and_edited_files_are_stopped_before(
    serve_early: ServeEarly, edited: str
) -> None:
    files = {
        "conftest.py": "",
        "product.py": "VALUE = 0",
        "test_it.py": "import product\nVALUE = 0\ndef test_it(): assert (product.VALUE + VALUE) % 2 == 0",
    }
    server, root = serve_early(files)
    assert server.run()["summary"]["passed"] == 1
    ways = []
    for number in range(1, EDITS + 1):
        server.let_begin()
        text = files[edited].replace("VALUE = 0", f"VALUE = {number}")
        (root / edited).write_text(f"{text}  # {'x' * number}")
        verdict, start = run(server)
        assert verdict["summary"]["failed"] == number % 2
        ways.append((start["way"], "edited recently" in (start["stopped_before"] or "")))
    assert ways[0] == ("cold", False)
    assert ways[1:] == [("early", True)] * (EDITS - 1)


# ---- nothing crosses from run to run

CHECK = """
import builtins, locale, os, random, signal, sys, threading

def test_nothing_of_an_earlier_run_is_here():
    assert not hasattr(builtins, "left_behind")
    assert "left_behind" not in sys.modules
    assert "LEFT_BEHIND" not in os.environ
    assert not [name for name in os.environ if name.startswith("FAULTLESS_PYTEST")]
    assert not [entry for entry in sys.path if "faultless" in entry and "worker" in entry]
    assert os.getcwd() == os.path.dirname(os.path.abspath(__file__))
    assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL
    assert threading.active_count() == 1
    assert sys.orig_argv[1:3] == ["-m", "pytest"]

def test_leaves_everything_behind():
    builtins.left_behind = True
    sys.modules["left_behind"] = sys
    os.environ["LEFT_BEHIND"] = "1"
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    random.seed(1)
    locale.setlocale(locale.LC_ALL, "C")
"""


def test_what_tests_do_to_their_process_does_not_reach_the_next_run(serve_early: ServeEarly) -> None:
    server, _ = serve_early({"test_check.py": CHECK})
    for way in ("cold", "early", "early"):
        verdict, start = run(server)
        assert (verdict["summary"]["passed"], start["way"]) == (2, way)
        server.let_begin()


@pytest.mark.heavy
def test_chance_is_another_in_every_run(serve_early: ServeEarly, tmp_path: Path) -> None:
    server, _ = serve_early(
        {
            "test_it.py": f"""
                import random
                DRAWN = random.random(), hash("text")
                def test_it(): print(*DRAWN, file=open({str(tmp_path / "drawn")!r}, "a"))
            """
        },
        PYTHONHASHSEED="random",
    )
    for way in ("cold", "early", "early"):
        assert run(server)[1]["way"] == way
        server.let_begin()
    drawn = [line.split() for line in (tmp_path / "drawn").read_text().splitlines()]
    assert len({number for number, _ in drawn}) == len({text for _, text in drawn}) == len(drawn)


def test_answers_are_equal_but_for_the_time(serve_early: ServeEarly) -> None:
    files = {
        "test_all.py": """
            import pytest, unittest, warnings
            print("said while imported")
            def test_passes(): warnings.warn("careful")
            def test_fails(): assert {"a": 1} == {"a": 2}
            @pytest.mark.skip(reason="not now")
            def test_skipped(): pass
            @pytest.mark.xfail
            def test_expected(): assert 0
            @pytest.fixture
            def broken(): yield; raise ValueError("teardown")
            def test_teardown(broken): pass
            class TestIt(unittest.TestCase):
                def test_method(self): print("said")
        """
    }
    server, _ = serve_early(files)
    arguments = {"verbosity": 2, "json_report": True}
    cold = server.call("execute_tests", arguments)
    server.let_begin()
    early = server.call("execute_tests", arguments)
    assert [start_of(cold)["way"], start_of(early)["way"]] == ["cold", "early"]
    assert mask_times(early) == mask_times(cold)


def mask_times(response: Answer) -> str:
    """Durations and dates to nothing, in fields and in text."""
    text = json.dumps(response["result"]["structuredContent"], sort_keys=True)
    text = re.sub(r'"(duration|created|start|stop)": [\d.e-]+', r'"\1": 0', text)
    return re.sub(r"\b\d+\.\d+s\b", "0s", text)


# ---- bounds


@pytest.mark.heavy
def test_an_idle_run_is_given_back(serve_early: ServeEarly) -> None:
    server, _ = serve_early({"test_it.py": "def test_it(): pass"}, idle_minutes=0.1)
    run(server)
    server.let_begin()
    wait_until(lambda: not server.list_runs(), 60.0)
    verdict, start = run(server)
    assert (verdict["summary"]["passed"], start["way"]) == (1, "cold")
    assert start["why_not_better"] == "nobody called for a long time"


def test_one_that_was_killed_costs_no_answer(serve_early: ServeEarly) -> None:
    server, _ = serve_early({"test_it.py": "def test_it(): pass"})
    run(server)
    server.let_begin()
    for process in server.list_runs():
        process.kill()
    wait_until(lambda: not server.list_runs())
    verdict, start = run(server)
    assert (verdict["summary"]["passed"], start["way"]) == (1, "cold")
    assert start["why_not_better"] == "it ended before it was asked for"
