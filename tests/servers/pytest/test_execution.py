"""Every parameter changes what runs, and every kind of test is counted as pytest counts it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faultless.servers.pytest import rendering
from tests.servers.pytest.conftest import Answer, Server

Serve = Callable[..., Server]

SELECTION = {
    "pytest.ini": "[pytest]\nmarkers =\n    slow\n    level(n)\n",
    "tests/test_a.py": """
        import pytest

        def test_one(): pass

        @pytest.mark.slow
        def test_two(): pass

        class TestGroup:
            def test_three(self): pass

        @pytest.mark.parametrize("v", ["a b", "x::y", "[z]", "é", "-x", "../up"])
        def test_four(v): pass
    """,
    "tests/test_b.py": "def test_other(): pass\n",
}


def names(answer: Answer) -> list[str]:
    return [test["node_id"] for test in answer["tests"]]


def counts(answer: Answer) -> dict[str, int]:
    summary = answer["summary"]
    assert summary["total"] == sum(summary[key] for key in ("passed", "failed", "skipped", "errors"))
    return {key: value for key, value in summary.items() if value and key not in {"duration", "total"}}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, 10),
        ({"node_ids": ["tests/test_a.py::test_one"]}, 1),
        ({"node_ids": ["tests/test_b.py", "tests/test_a.py::TestGroup"]}, 2),
        ({"node_ids": ["tests"]}, 10),
        ({"node_ids": ["tests/test_a.py::test_four[a b]"]}, 1),
        ({"node_ids": ["tests/test_a.py::test_four[x::y]"]}, 1),
        ({"node_ids": ["tests/test_a.py::test_four[[z]]"]}, 1),
        ({"node_ids": ["tests/test_a.py::test_four[-x]", "tests/test_a.py::test_four[../up]"]}, 2),
        ({"markers": "slow"}, 1),
        ({"markers": "not slow"}, 9),
        ({"keywords": "one or other"}, 2),
        ({"keywords": "TestGroup"}, 1),
        ({"markers": "not slow", "keywords": "test_a and not four"}, 2),
    ],
)
def test_a_selection_runs_exactly_what_it_names(
    serve: Serve, arguments: dict[str, object], expected: int
) -> None:
    answer = serve(SELECTION).run(**arguments)
    assert counts(answer) == {"passed": expected} | (
        {"deselected": 10 - expected} if {"markers", "keywords"} & set(arguments) else {}
    )


def test_a_parametrised_id_with_any_character_comes_back_as_it_went_in(serve: Serve) -> None:
    server = serve(SELECTION)
    listed = [name for name in names(server.run(verbosity=1)) if "four" in name]
    assert len(listed) == 6
    assert sorted(names(server.run(node_ids=listed, verbosity=1))) == sorted(listed)


FAILING = {
    "test_f.py": """
        import pytest

        @pytest.mark.parametrize("n", range(5))
        def test_f(n):
            print("heard", n)
            assert n == "never", "reason " + "abcde"[n]

        def test_last(): pass
    """
}


def test_failfast_stops_at_the_first_failure_and_says_how_many_did_not_run(serve: Serve) -> None:
    answer = serve(FAILING).run(failfast=True)
    assert counts(answer) == {"failed": 1, "not_run": 5}
    assert answer["exit_code"] == 1
    assert "5 tests did not run" in answer["hint"]


def test_maxfail_stops_at_the_given_failure(serve: Serve) -> None:
    assert counts(serve(FAILING).run(maxfail=3)) == {"failed": 3, "not_run": 3}


def test_a_run_without_a_limit_runs_everything(serve: Serve) -> None:
    answer = serve(FAILING).run()
    assert counts(answer) == {"failed": 5, "passed": 1}
    assert "hint" not in answer


def test_show_capture_decides_whether_output_is_told(serve: Serve) -> None:
    server = serve(FAILING)
    target = {"node_ids": ["test_f.py::test_f[0]"]}
    assert "heard 0" in server.run(**target)["tests"][0]["traceback"]
    assert "heard 0" not in server.run(show_capture=False, **target)["tests"][0]["traceback"]
    assert "heard 0" not in server.run(verbosity=-1, **target)["tests"][0]["traceback"]
    assert "heard 0" in server.run(show_capture=True, verbosity=-2, **target)["tests"][0]["traceback"]


def test_verbosity_decides_how_much_is_told(serve: Serve) -> None:
    server = serve(FAILING)
    quiet, normal, more, most = (server.run(verbosity=level) for level in (-2, 0, 1, 2))
    assert [len(answer["tests"]) for answer in (quiet, normal, more, most)] == [5, 5, 6, 6]
    assert quiet["text_output"] == ""
    assert normal["text_output"] == ""
    assert "test session starts" in more["text_output"]
    assert "test_f[0]" not in more["text_output"]
    assert "5 failed, 1 passed" in more["text_output"]
    assert "test_f[0] FAILED" in most["text_output"]
    assert "= FAILURES =" not in more["text_output"]
    assert "= FAILURES =" in most["text_output"]


def test_color_keeps_the_escape_codes(serve: Serve) -> None:
    server = serve(FAILING)
    assert "\x1b[" in server.run(color=True)["text_output"]
    assert "\x1b[" not in server.run(verbosity=2)["text_output"]


def test_last_failed_runs_what_failed_and_nothing_when_nothing_did(serve: Serve) -> None:
    server = serve(FAILING)
    nothing = server.run(last_failed=True)
    assert (nothing["exit_code"], counts(nothing)) == (5, {"deselected": 6})
    assert "nothing was run" in nothing["hint"]
    server.run()
    assert counts(server.run(last_failed=True)) == {"failed": 5}


def test_last_failed_runs_nothing_when_the_selection_holds_no_failure(serve: Serve) -> None:
    server = serve(FAILING)
    server.run()
    answer = server.run(last_failed=True, node_ids=["test_f.py::test_last"])
    assert (answer["exit_code"], answer["summary"]["total"]) == (5, 0)


def test_json_report_holds_every_phase_only_when_asked_for(serve: Serve) -> None:
    server = serve(FAILING)
    assert server.run()["json_report"] == {}
    report = server.run(json_report=True)["json_report"]
    assert [test["outcome"] for test in report["tests"]] == ["failed"] * 5 + ["passed"]
    assert set(report["tests"][0]) == {"nodeid", "outcome", "setup", "call", "teardown"}
    assert report["tests"][0]["call"]["crash"] == {"path": "test_f.py", "lineno": 7}
    assert report["summary"]["total"] == 6


def test_a_run_in_which_a_plugin_asked_for_exit_1_says_that_no_test_failed(serve: Serve) -> None:
    answer = serve(
        {
            "conftest.py": "def pytest_sessionfinish(session): session.exitstatus = 1\n",
            "test_a.py": "def test_a(): pass\n",
        }
    ).run()
    assert (answer["exit_code"], counts(answer)) == (1, {"passed": 1})
    assert "pytest exited 1 against its own results" in answer["hint"]


def test_a_plugin_that_turns_a_failure_into_exit_0_does_not_make_it_green(serve: Serve) -> None:
    answer = serve(
        {
            "conftest.py": "def pytest_sessionfinish(session): session.exitstatus = 0\n",
            "test_a.py": "def test_a(): assert 0\n",
        }
    ).run()
    assert (answer["exit_code"], counts(answer)) == (0, {"failed": 1})
    assert "pytest exited 0 against its own results" in answer["hint"]
    assert rendering.is_bad_news("execute_tests", answer)


@pytest.mark.parametrize(
    ("arguments", "deselected", "hint"),
    [
        ({"node_ids": ["empty"]}, None, "no tests here: discover_tests lists them"),
        ({"markers": "nothing"}, 1, None),
    ],
)
def test_no_tests_is_a_verdict_that_says_why(
    serve: Serve, arguments: dict[str, object], deselected: int | None, hint: str | None
) -> None:
    answer = serve({"test_a.py": "def test_a(): pass\n", "empty/readme.txt": ""}).run(**arguments)
    assert (answer["exit_code"], answer["summary"]["total"], answer["tests"]) == (5, 0, [])
    assert (answer["summary"].get("deselected"), answer.get("hint")) == (deselected, hint)
