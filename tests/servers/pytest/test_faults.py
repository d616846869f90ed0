"""Every row of the exit-code table, and every way a process can end, as the seed words it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers.pytest.conftest import Answer, Server, WriteProject, is_running_a_test, run_into_deadline

Serve = Callable[..., Server]
FIELDS = {"error_type", "exit_code", "signal", "stdout", "stderr", "command", "duration", "timeout_exceeded"}
FIELDS |= {"collection_errors", "hint", "kind", "retry_after_seconds"}


def check(error: Answer, kind: str, code: int, exit_code: int | None, begins: str) -> Answer:
    data: Answer = error["data"]
    assert error["message"].startswith(begins)
    assert (data["kind"], error["code"], data["exit_code"]) == (kind, code, exit_code)
    assert set(data) >= FIELDS
    assert data["timeout_exceeded"] is (kind == "timeout")
    assert data["command"][1:3] == ["-m", "pytest"]
    return data


def test_exit_0_and_1_and_5_are_verdicts(serve: Serve) -> None:
    server = serve({"test_a.py": "def test_a(): pass\ndef test_b(): assert 0\n", "none/x.txt": ""})
    codes = [server.run(node_ids=[name])["exit_code"] for name in ("test_a.py::test_a", "test_a.py", "none")]
    assert codes == [0, 1, 5]


def test_exit_2_is_interrupted_and_says_where(serve: Serve) -> None:
    text = (
        "import os, signal\ndef test_a(): pass\ndef test_b(): raise KeyboardInterrupt\ndef test_c(): pass\n"
    )
    begins = "pytest execution failed: Test execution was interrupted: KeyboardInterrupt"
    data = check(serve({"test_a.py": text}).fail(), "interrupted", -32000, 2, begins)
    assert data["summary"]["passed"] == 1
    assert "1 of 3 planned tests had ended" in serve({"test_a.py": text}).fail()["message"]


def test_exit_2_with_broken_files_is_a_collection_error(serve: Serve) -> None:
    files = {"test_a.py": "def test_a(): pass\n", "tests/test_bad.py": "\nimport nowhere_to_be_found\n"}
    begins = (
        "pytest execution failed: 1 file could not be collected: "
        "tests/test_bad.py:2: ModuleNotFoundError: No module named 'nowhere_to_be_found'"
    )
    data = check(serve(files).fail(), "collection_error", -32000, 2, begins)
    (broken,) = data["collection_errors"]
    assert (broken["file"], broken["line"], broken["error_type"]) == (
        "tests/test_bad.py",
        2,
        "ModuleNotFoundError",
    )
    assert broken["traceback"] == (
        '  File "tests/test_bad.py", line 2, in <module>\n    import nowhere_to_be_found'
    )


def test_the_message_names_the_line_that_broke_a_file_wherever_it_is(serve: Serve) -> None:
    files = {"shop.py": "\nimport nowhere_to_be_found\n", "test_a.py": "import shop\n"}
    error = serve(files | {"pytest.ini": "[pytest]\npythonpath = .\n"}).fail()
    assert error["message"] == (
        "pytest execution failed: 1 file could not be collected: test_a.py:1: ModuleNotFoundError: "
        "No module named 'nowhere_to_be_found', raised at shop.py:2 in <module>. "
        "Hint: install it, or correct the import or pythonpath"
    )


def test_where_pytest_explains_what_is_wrong_its_own_words_are_told(serve: Serve) -> None:
    same_name = {"a/test_dup.py": "def test_a(): pass", "b/test_dup.py": "def test_b(): pass"}
    message = serve(same_name).fail()["message"]
    assert "import file mismatch" in message
    assert "use a unique basename" in message
    message = serve({"test_a.py": "import pytest\npytest.skip('all of it')"}).fail()["message"]
    assert "allow_module_level=True" in message
    assert "Hint: do what pytest says there" in message


def test_a_hook_that_broke_at_the_end_is_named_beside_the_results(serve: Serve) -> None:
    server = serve({"conftest.py": "def pytest_sessionfinish(): 1 / 0", "test_a.py": "def test_a(): pass"})
    assert (
        server.run()["hint"] == "pytest exited 1 against its own results: ZeroDivisionError: division by zero"
    )


def test_what_pytest_prints_around_a_run_is_told_at_verbosity_2_only(serve: Serve) -> None:
    server = serve({"test_a.py": "import nowhere\n", "pytest.ini": "[pytest]\naddopts = -s\n"})
    assert server.fail()["data"]["stdout"] == ""
    whole = server.fail(verbosity=2)["data"]
    assert "test session starts" in whole["stdout"]
    assert "1 error in " in whole["stdout"]
    assert whole["collection_errors"][0]["traceback"].endswith("No module named 'nowhere'")


def test_what_the_project_prints_is_told_with_a_fault(serve: Serve) -> None:
    files = {
        "conftest.py": "import sys\nprint('from conftest')\nprint('to stderr', file=sys.stderr)\n",
        "test_a.py": "import nowhere\n",
        "pytest.ini": "[pytest]\naddopts = -s\n",
    }
    data = serve(files).fail()["data"]
    assert (data["stdout"].strip(), data["stderr"].strip()) == ("from conftest", "to stderr")


def test_failfast_at_a_broken_file_is_a_collection_error_too(serve: Serve) -> None:
    files = {"test_a.py": "import nowhere\n", "test_b.py": "def test_b(): pass\n"}
    assert serve(files).fail(failfast=True)["data"]["kind"] == "collection_error"


def test_exit_3_is_an_engine_error(serve: Serve) -> None:
    files = {
        "conftest.py": "def pytest_runtest_teardown(): pass\ndef pytest_runtestloop(): raise ValueError('bad hook')\n",
        "test_a.py": "def test_a(): pass\n",
    }
    begins = "pytest execution failed: pytest internal error occurred: ValueError: bad hook"
    data = check(serve(files).fail(), "engine_error", -32000, 3, begins)
    assert data["error_type"] == "pytest_internal"


def test_exit_4_is_a_usage_error_with_what_pytest_said_and_close_matches(serve: Serve) -> None:
    server = serve(
        {"tests/test_user.py": "def test_login(): pass\nclass TestAuth:\n    def test_out(self): pass\n"}
    )
    error = server.fail(node_ids=["tests/test_user.py::test_logni"])
    begins = "pytest execution failed: Invalid pytest arguments (validation failure): not found: "
    data = check(error, "usage_error", -32602, 4, begins)
    assert "tests/test_user.py::test_logni" in error["message"]
    assert data["hint"] == "did you mean tests/test_user.py::test_login?"
    assert (data["stdout"], data["stderr"]) == ("", "")


def test_an_unknown_option_in_the_projects_configuration_is_a_usage_error(serve: Serve) -> None:
    files = {"pytest.ini": "[pytest]\naddopts = --no-such-option\n", "test_a.py": "def test_a(): pass\n"}
    error = serve(files).fail()
    check(
        error,
        "usage_error",
        -32602,
        4,
        "pytest execution failed: Invalid pytest arguments (validation failure): ",
    )
    assert "--no-such-option" in error["message"]


def test_a_conftest_that_cannot_be_imported_is_named(serve: Serve) -> None:
    error = serve({"conftest.py": "import nowhere\n", "test_a.py": "def test_a(): pass\n"}).fail()
    begins = (
        "pytest execution failed: Invalid pytest arguments (validation failure): "
        "conftest.py could not be imported: ModuleNotFoundError: No module named 'nowhere'"
    )
    data = check(error, "usage_error", -32602, 4, begins)
    assert (data["collection_errors"][0]["file"], data["collection_errors"][0]["line"]) == ("conftest.py", 1)


def test_a_plugin_that_cannot_be_imported_is_an_engine_error(serve: Serve) -> None:
    files = {"pytest.ini": "[pytest]\naddopts = -p no_such_plugin\n", "test_a.py": "def test_a(): pass\n"}
    error = serve(files).fail()
    assert error["data"]["kind"] in {"engine_error", "usage_error"}
    assert "no_such_plugin" in error["message"]


@pytest.mark.parametrize("code", [6, 42, 255])
def test_exit_6_and_above_is_a_crash(serve: Serve, code: int) -> None:
    text = f"import pytest\ndef test_a(): pytest.exit('enough', returncode={code})\n"
    begins = f"pytest execution failed: pytest exited with unexpected code {code}"
    check(serve({"test_a.py": text}).fail(), "crash", -32000, code, begins)


@pytest.mark.parametrize("code", [0, 1, 5])
def test_a_process_that_leaves_early_is_a_crash_whatever_its_exit_code(serve: Serve, code: int) -> None:
    text = f"import os\ndef test_a(): pass\ndef test_b(): os._exit({code})\n"
    begins = (
        f"pytest execution failed: pytest exited with unexpected code {code} while running test_a.py::test_b"
    )
    data = check(serve({"test_a.py": text}).fail(), "crash", -32000, code, begins)
    assert data["summary"]["passed"] == 1


def test_fewer_tests_than_planned_are_never_a_green_verdict(serve: Serve) -> None:
    files = {
        "conftest.py": """
            def pytest_runtestloop(session):
                for item in session.items[:2]:
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
                return True
        """,
        "test_a.py": "def test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\n",
    }
    begins = "pytest execution failed: Test execution was interrupted: pytest ended before all planned tests had run"
    error = serve(files).fail()
    check(error, "interrupted", -32000, 0, begins)
    assert "2 of 3 planned tests had ended" in error["message"]


@pytest.mark.parametrize("option", ["--setup-only", "--collect-only", "--fixtures"])
def test_an_option_of_the_project_that_keeps_tests_from_running_is_never_green(
    serve: Serve, option: str
) -> None:
    files = {"pytest.ini": f"[pytest]\naddopts = {option}\n", "test_a.py": "def test_a(): pass\n"}
    assert serve(files).fail()["data"]["kind"] in {"interrupted", "crash", "engine_error"}


def test_stopping_with_success_in_the_middle_is_never_a_green_verdict(serve: Serve) -> None:
    text = "import pytest\ndef test_a(): pytest.exit('enough', returncode=0)\ndef test_b(): pass\n"
    assert serve({"test_a.py": text}).fail()["data"]["kind"] == "interrupted"


def test_a_signal_is_named_with_the_test_that_was_running(serve: Serve) -> None:
    text = "import os\ndef test_a(): assert 0\ndef test_b(): os.kill(os.getpid(), 11)\n"
    begins = "pytest subprocess terminated with signal SIGSEGV while running test_a.py::test_b"
    data = check(serve({"test_a.py": text}).fail(), "crash", -32000, None, begins)
    assert data["signal"] == "SIGSEGV"
    assert [test["node_id"] for test in data["tests"]] == ["test_a.py::test_a"]


def test_a_timeout_names_the_test_and_the_line_and_keeps_what_was_done(serve: Serve) -> None:
    text = """
        import threading

        def test_a(): assert 0

        def wait():
            print("waiting", flush=True)
            threading.Event().wait()

        def test_b(): wait()
    """
    error = run_into_deadline(serve({"test_a.py": text}), is_running_a_test)
    data = check(error, "timeout", -32000, None, "pytest execution exceeded timeout of ")
    assert (
        " seconds while running test_a.py::test_b, at test_a.py:8 in wait; failed before: test_a.py::test_a. Hint: "
        in error["message"]
    )
    assert data["signal"] is None
    assert [test["node_id"] for test in data["tests"]] == ["test_a.py::test_a"]
    assert data["running"] == ["test_a.py::test_b"]
    assert 'File "test_a.py", line 8 in wait' in data["stack"]
    assert (data["stdout"], data["stderr"]) == ("", "")


def test_a_timeout_while_collecting_names_the_line_too(serve: Serve) -> None:
    server = serve({"test_a.py": "import threading\nthreading.Event().wait()\n"})
    error = run_into_deadline(server, lambda error: "test_a.py" in error["message"])
    assert " seconds while collecting tests, at test_a.py:2 in <module>. Hint: " in error["message"]


def test_an_interpreter_that_is_not_there_is_unavailable(serve: Serve, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere" / "python"
    error = serve({"test_a.py": "def test_a(): pass\n"}, python=missing).fail()
    assert error["message"].startswith("Failed to spawn pytest subprocess: ")
    assert str(missing) in error["message"]
    assert error["data"]["kind"] == "unavailable"
    assert error["data"]["hint"]


def test_an_interpreter_without_pytest_is_unavailable_with_the_command_that_mends_it(
    serve: Serve, write_project: WriteProject
) -> None:
    """An environment made by hand: `venv` would take seconds."""
    root = write_project(
        {
            ".venv/pyvenv.cfg": f"home = {Path(sys.base_prefix) / 'bin'}\ninclude-system-site-packages = false\n"
        }
    )
    (root / ".venv" / "bin").mkdir()
    (root / ".venv" / "bin" / "python").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    error = serve({"test_a.py": "def test_a(): pass\n"}, python=None).fail()
    assert error["data"]["kind"] == "unavailable"
    assert "pytest cannot be imported there" in error["message"]
    assert error["data"]["hint"] == f"{root}/.venv/bin/python -m pip install pytest"


def test_a_program_that_is_no_python_is_unavailable(serve: Serve) -> None:
    error = serve({"test_a.py": "def test_a(): pass\n"}, python=Path("/bin/true")).fail()
    assert error["data"]["kind"] == "unavailable"
    assert "does not run Python code" in error["message"]


def test_a_run_that_pytest_timeout_ended_is_a_time_out(serve: Serve) -> None:
    """Its thread method prints every stack and leaves without a word to pytest."""
    text = """
        import os, traceback
        def test_a(): pass
        def test_b():
            os.write(2, b"\\n" + b"+" * 30 + b" Timeout " + b"+" * 30 + b"\\n")
            os.write(2, b"~~~ Stack of MainThread (140) ~~~\\n")
            os.write(2, b"".join(line.encode() for line in traceback.format_stack()))
            os._exit(1)
    """
    error = serve({"test_a.py": text, "pytest.ini": "[pytest]\naddopts = -s"}).fail()
    said = (
        "pytest execution failed: pytest-timeout ended the whole run while running test_a.py::test_b, "
        "at test_a.py:7 in test_b. Hint: raise that test's time-out"
    )
    data = check(error, "timeout", -32000, 1, said)
    assert data["summary"]["passed"] == 1
