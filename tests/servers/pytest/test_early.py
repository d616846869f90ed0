"""Runs that start warm: the answers of a new process, and nothing of the run before."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from faultless.kit.testing import WireClient
from tests.servers.pytest.conftest import LIGHT, Answer, WireServer, WriteProject, serving_command, warm

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux only")

Serve = Callable[..., tuple[WireServer, Path]]
CHECK = """
import builtins, locale, os, random, signal, sys, threading

def test_nothing_of_an_earlier_run_is_here():
    assert not hasattr(builtins, "left_behind")
    assert "left_behind" not in sys.modules
    assert "LEFT_BEHIND" not in os.environ
    assert os.getcwd() == os.path.dirname(os.path.abspath(__file__))
    assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL
    assert os.umask(0o022) == int(os.environ["EXPECTED_UMASK"], 8)
    assert threading.active_count() == 1
    assert locale.setlocale(locale.LC_ALL) == os.environ.get("EXPECTED_LOCALE", locale.setlocale(locale.LC_ALL))
    assert random.random() != 0.13436424411240122  # what a seed of 1 gives
"""
MUTATE = """
import builtins, locale, os, random, signal, sys, threading

def test_leaves_everything_behind():
    builtins.left_behind = True
    sys.modules["left_behind"] = sys
    os.environ["LEFT_BEHIND"] = "1"
    os.chdir("/")
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    os.umask(0o777)
    random.seed(1)
    locale.setlocale(locale.LC_ALL, "C")
    threading.Thread(target=threading.Event().wait, daemon=True).start()
"""


def is_warm(response: Answer) -> bool:
    return bool(response["result"]["_meta"]["faultless/start"] == "warm")


@pytest.fixture
def serve_warm(write_project: WriteProject) -> Iterator[Serve]:
    clients: list[WireClient] = []

    def start(files: dict[str, str], *options: str, **env: str) -> tuple[WireServer, Path]:
        root = write_project(files)
        client = WireClient(serving_command(root, *options), env={**LIGHT, **env}, deadline_seconds=120)
        clients.append(client)
        server = WireServer(client.open("handshake"))
        return server, root

    yield start
    for client in clients:
        client.__exit__(None, None, None)


def test_what_tests_do_to_their_process_does_not_reach_the_next_run(serve_warm: Serve) -> None:
    umask = os.umask(0)
    os.umask(umask)
    server, _ = serve_warm({"test_check.py": CHECK, "test_mutate.py": MUTATE}, EXPECTED_UMASK=f"{umask:o}")
    warm(server, node_ids=["test_check.py"])
    for _ in range(2):
        assert server.run(node_ids=["test_mutate.py"])["exit_code"] == 0
        checked = server.call("execute_tests", {"node_ids": ["test_check.py"]})
        assert is_warm(checked)
        assert checked["result"]["structuredContent"]["exit_code"] == 0


def test_a_leak_between_runs_would_be_seen(serve_warm: Serve) -> None:
    server, _ = serve_warm({"test_check.py": CHECK}, EXPECTED_UMASK="777")
    assert server.run()["exit_code"] == 1


def test_every_edit_is_in_the_next_answer(serve_warm: Serve) -> None:
    server, root = serve_warm(
        {
            "product.py": "VALUE = 0",
            "conftest.py": "",
            "test_it.py": "import product\ndef test_it(): assert product.VALUE % 2 == 0",
        }
    )
    warm(server)
    for number in range(1, 7):
        (root / "product.py").write_text(f"VALUE = {number}  # {'x' * number}")
        (root / "conftest.py").write_text(f"collect_ignore = []  # {'x' * number}")
        answer = server.call("execute_tests", {})
        assert is_warm(answer)
        assert answer["result"]["structuredContent"]["summary"]["failed"] == number % 2


def test_warm_and_cold_answers_are_equal_but_for_the_time(serve_warm: Serve) -> None:
    files = {
        "test_all.py": """
            import pytest, unittest, warnings
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
    server, _ = serve_warm(files)
    arguments = {"verbosity": 2, "json_report": True}
    cold = server.call("execute_tests", arguments)
    warm(server)
    forked = server.call("execute_tests", arguments)
    assert (is_warm(cold), is_warm(forked)) == (False, True)
    assert mask_times(forked["result"]["structuredContent"]) == mask_times(
        cold["result"]["structuredContent"]
    )


def mask_times(value: object) -> object:
    """Durations and dates to nothing, in fields and in text."""
    text = json.dumps(value, sort_keys=True)
    text = re.sub(r'"(duration|created|start|stop)": [\d.e-]+', r'"\1": 0', text)
    return re.sub(r"\b\d+\.\d+s\b", "0s", text)


def test_installed_modules_that_tests_import_are_loaded_beforehand(serve_warm: Serve, tmp_path: Path) -> None:
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "slow_to_load.py").write_text("import os\nLOADED_BY = os.getpid()")
    test = "import os, slow_to_load\ndef test_it(): assert slow_to_load.LOADED_BY == os.getpid()"
    server, _ = serve_warm({"test_it.py": test}, PYTHONPATH=str(packages))
    assert server.run()["summary"]["passed"] == 1
    for _ in range(200):
        if server.run()["summary"]["failed"] == 1:
            break
    else:
        pytest.fail("never preloaded")


def test_a_module_whose_loading_breaks_the_run_is_given_up(serve_warm: Serve, tmp_path: Path) -> None:
    """It refuses to be used in another process than the one that loaded it."""
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "jealous.py").write_text(
        "import os\nOWNER = os.getpid()\ndef use():\n    if os.getpid() != OWNER: raise RuntimeError('not mine')"
    )
    test = "import jealous\njealous.use()\ndef test_it(): pass"
    server, _ = serve_warm({"test_it.py": test}, PYTHONPATH=str(packages))
    warm_runs = 0
    for _ in range(60):
        answer = server.call("execute_tests", {})
        assert answer["result"]["structuredContent"]["summary"]["passed"] == 1
        warm_runs += is_warm(answer)
        if warm_runs == 5:
            break
    assert warm_runs == 5


def test_a_parent_that_is_killed_during_a_run_costs_no_answer(serve_warm: Serve) -> None:
    server, _ = serve_warm({"test_it.py": "def test_it(): pass"})
    warm(server)
    for process in psutil.Process(server.client.process.pid).children():
        if "faultless_warm" in " ".join(process.cmdline()):
            process.kill()
    assert server.run()["summary"]["passed"] == 1
    warm(server)


def test_cold_means_cold(serve_warm: Serve) -> None:
    server, _ = serve_warm({"test_it.py": "def test_it(): pass"}, "--cold")
    for _ in range(4):
        assert not is_warm(server.call("execute_tests", {}))


def test_discovery_starts_warm_too(serve_warm: Serve) -> None:
    server, root = serve_warm({"test_it.py": "def test_it(): pass"})
    warm(server)
    (root / "test_more.py").write_text("def test_more(): pass")
    answer = server.call("discover_tests", {})
    assert is_warm(answer)
    assert answer["result"]["structuredContent"]["count"] == 2


def test_a_plugin_under_development_is_imported_by_every_run(serve_warm: Serve, tmp_path: Path) -> None:
    """Its entry point is installed, its code is not."""
    packages, source = tmp_path / "site-packages", tmp_path / "source"
    metadata = packages / "mine-1.dist-info"
    metadata.mkdir(parents=True)
    source.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[pytest11]\nmine = mine_plugin\n")
    (source / "mine_plugin.py").write_text("VALUE = 1")
    server, _ = serve_warm(
        {"test_it.py": "import mine_plugin, sys\ndef test_it(): assert mine_plugin.VALUE == 1"},
        PYTHONPATH=os.pathsep.join([str(packages), str(source)]),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="",
    )
    warm(server)
    (source / "mine_plugin.py").write_text("VALUE = 22")
    answer = server.call("execute_tests", {})
    assert is_warm(answer)
    assert answer["result"]["structuredContent"]["summary"]["failed"] == 1
