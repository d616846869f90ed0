"""One row per test, worst phase wins; counts are pytest's own where that rule does not say otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.servers.pytest.conftest import Answer, Server

Serve = Callable[..., Server]
WORDS = {"passed": "passed", "failed": "failed", "skipped": "skipped", "error": "errors", "errors": "errors"}
WORDS |= {"xfailed": "skipped", "xpassed": "passed"}


def counts(answer: Answer) -> dict[str, int]:
    summary = answer["summary"]
    return {key: summary[key] for key in ("passed", "failed", "skipped", "errors") if summary[key]}


def counts_of_pytest(answer: Answer) -> dict[str, int]:
    """What the last line of its text says."""
    told: dict[str, int] = {}
    for number, word in re.findall(r"(\d+) (\w+)", answer["text_output"].splitlines()[-1]):
        if word in WORDS:
            told[WORDS[word]] = told.get(WORDS[word], 0) + int(number)
    return told


def outcomes(answer: Answer) -> dict[str, tuple[str, str | None]]:
    return {
        test["node_id"].split("::", 1)[-1]: (test["outcome"], test["message"]) for test in answer["tests"]
    }


CASES = {
    "plain": ("def test_a(): pass\ndef test_b(): assert 1 == 2\n", {"passed": 1, "failed": 1}),
    "setup error": (
        """
        import pytest
        @pytest.fixture
        def broken(): raise OSError("no disk")
        def test_a(broken): pass
        def test_b(): pass
        """,
        {"passed": 1, "errors": 1},
    ),
    "session fixture error": (
        """
        import pytest
        @pytest.fixture(scope="session", autouse=True)
        def broken(): raise OSError("no disk")
        def test_a(): pass
        def test_b(): pass
        """,
        {"errors": 2},
    ),
    "skips": (
        """
        import pytest
        @pytest.mark.skip(reason="later")
        def test_a(): pass
        @pytest.mark.skipif(True, reason="not here")
        def test_b(): pass
        def test_c(): pytest.skip("inside")
        """,
        {"skipped": 3},
    ),
    "expected failures": (
        """
        import pytest
        @pytest.mark.xfail(reason="known")
        def test_a(): assert False
        @pytest.mark.xfail(reason="healed")
        def test_b(): pass
        @pytest.mark.xfail(strict=True, reason="strict")
        def test_c(): pass
        def test_d(): pytest.xfail("by hand")
        """,
        {"skipped": 2, "passed": 1, "failed": 1},
    ),
    "unittest": (
        """
        import unittest
        class TestOld(unittest.TestCase):
            def test_a(self): self.assertEqual(1, 1)
            def test_b(self): self.assertEqual(1, 2)
            @unittest.skip("not now")
            def test_c(self): pass
            @unittest.expectedFailure
            def test_d(self): self.fail()
            @unittest.expectedFailure
            def test_e(self): pass
        """,
        {"passed": 1, "failed": 2, "skipped": 2},
    ),
    "parametrised in nested classes": (
        """
        import pytest
        class TestA:
            class TestB:
                @pytest.mark.parametrize("n", [1, 2, 3])
                def test_c(self, n): assert n != 2
        """,
        {"passed": 2, "failed": 1},
    ),
    "module skipped": ("import pytest\npytest.skip('all of it', allow_module_level=True)\n", {"skipped": 1}),
    "warnings as errors": (
        """
        import warnings
        def test_a(): warnings.warn("old")
        def test_b(): pass
        """,
        {"passed": 1, "failed": 1},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_counts_equal_those_of_pytest_itself(serve: Serve, name: str) -> None:
    text, expected = CASES[name]
    strict = "[pytest]\nfilterwarnings = error\n" if name == "warnings as errors" else "[pytest]\n"
    server = serve({"test_it.py": text, "pytest.ini": strict})
    answer = server.run(verbosity=1)
    assert counts(answer) == expected == counts_of_pytest(answer)
    assert counts(server.run()) == expected


def test_a_passed_test_with_a_broken_teardown_is_one_error(serve: Serve) -> None:
    answer = serve(
        {
            "test_it.py": """
            import pytest
            @pytest.fixture
            def broken():
                yield
                raise OSError("no disk")
            def test_a(broken): pass
            def test_b(broken): assert False, "first"
            """
        }
    ).run()
    assert counts(answer) == {"errors": 2}
    assert outcomes(answer) == {
        "test_a": ("error", "in teardown: OSError: no disk"),
        "test_b": ("error", "in call: AssertionError: first\nassert False\nin teardown: OSError: no disk"),
    }


def test_reasons_of_skips_and_expected_failures_are_told(serve: Serve) -> None:
    answer = serve({"test_it.py": CASES["expected failures"][0]}).run(verbosity=1)
    assert outcomes(answer) == {
        "test_a": ("skipped", "xfail: known"),
        "test_b": ("passed", "xpass: healed"),
        "test_c": ("failed", "[XPASS(strict)] strict"),
        "test_d": ("skipped", "xfail: by hand"),
    }


def test_subtests_count_for_their_test(serve: Serve) -> None:
    answer = serve(
        {
            "test_it.py": """
            import unittest
            def test_a(subtests):
                for n in range(4):
                    with subtests.test("step", n=n):
                        assert n % 2 == 0
            def test_b(subtests):
                with subtests.test():
                    pass
            class TestOld(unittest.TestCase):
                def test_c(self):
                    with self.subTest(n=1):
                        self.fail("inner")
            """
        }
    ).run()
    assert counts(answer) == {"passed": 1, "failed": 2}
    message = outcomes(answer)["test_a"][1] or ""
    assert "[step] (n=1) AssertionError: assert (1 % 2) == 0" in message
    assert "[step] (n=3) AssertionError: assert (3 % 2) == 0" in message


def test_doctests_are_tests(serve: Serve) -> None:
    answer = serve(
        {
            "pytest.ini": "[pytest]\naddopts = --doctest-modules\n",
            "shop.py": "def f():\n    '''\n    >>> f()\n    1\n    '''\n    return 2\n",
            "test_it.py": "def test_a(): pass\n",
        }
    ).run(verbosity=1)
    assert counts(answer) == {"passed": 1, "failed": 1} == counts_of_pytest(answer)
    row = answer["tests"][0]
    assert (row["node_id"], row["message"]) == ("shop.py::shop.f", "shop.py:3: DocTestFailure")
    assert "Expected:\n    1\nGot:\n    2" in row["traceback"]


RERUN = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    from _pytest.runner import runtestprotocol
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for left in (1, 0):
        again = False
        for report in runtestprotocol(item, nextitem=nextitem, log=False):
            if report.failed and left:
                report.outcome = "rerun"
                item._initrequest()
                again = True
            hook.pytest_runtest_logreport(report=report)
        if not again:
            break
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""


def test_a_test_that_a_plugin_runs_again_counts_once_with_its_last_outcome(serve: Serve) -> None:
    answer = serve(
        {
            "conftest.py": RERUN,
            "test_it.py": """
            tries = []
            def test_a():
                tries.append(1)
                assert len(tries) == 2
            def test_b(): assert False
            """,
        }
    ).run(verbosity=1, json_report=True)
    assert counts(answer) == {"passed": 1, "failed": 1}
    assert [test["reruns"] for test in answer["json_report"]["tests"]] == [1, 1]


def test_broken_files_count_as_errors_where_the_project_runs_on_regardless(serve: Serve) -> None:
    answer = serve(
        {
            "pytest.ini": "[pytest]\naddopts = --continue-on-collection-errors\n",
            "test_bad.py": "import nowhere\n",
            "test_good.py": "def test_a(): pass\n",
        }
    ).run(verbosity=1)
    assert answer["exit_code"] == 1
    assert counts(answer) == {"passed": 1, "errors": 1} == counts_of_pytest(answer)
    assert answer["collection_errors"][0]["file"] == "test_bad.py"


XDIST = "[pytest]\naddopts = -p xdist -p xdist.looponfail -n 2\n"


def test_xdist_workers_report_through_their_controller(serve: Serve) -> None:
    answer = serve(
        {
            "pytest.ini": XDIST,
            "test_it.py": """
            import pytest
            @pytest.mark.parametrize("n", range(20))
            def test_a(n): assert n != 7
            def test_b(): pytest.skip("why not")
            """,
        }
    ).run(verbosity=1)
    assert counts(answer) == {"passed": 19, "failed": 1, "skipped": 1} == counts_of_pytest(answer)
    assert len(answer["tests"]) == 21


def test_maxfail_under_xdist_is_a_verdict_too(serve: Serve) -> None:
    text = "import pytest\n@pytest.mark.parametrize('n', range(200))\ndef test_a(n): assert n < 0\n"
    answer = serve({"pytest.ini": XDIST, "test_it.py": text}).run(failfast=True)
    assert answer["exit_code"] == 1
    assert answer["summary"]["failed"] >= 1
    assert answer["summary"]["not_run"] > 0


def test_a_worker_of_xdist_that_dies_fails_its_test(serve: Serve) -> None:
    text = "import os\ndef test_a(): os._exit(3)\ndef test_b(): pass\n"
    answer = serve({"pytest.ini": XDIST, "test_it.py": text}).run()
    assert counts(answer) == {"passed": 1, "failed": 1}
    assert "crashed while running" in answer["tests"][0]["message"]


def test_a_broken_file_under_xdist_is_a_collection_error(serve: Serve) -> None:
    error = serve({"pytest.ini": XDIST, "test_bad.py": "import nowhere\n"}).fail()
    assert error["data"]["kind"] == "collection_error"
    assert error["data"]["collection_errors"][0]["error_type"] == "ModuleNotFoundError"


def test_200_failures_with_one_cause_are_told_once(serve: Serve) -> None:
    text = """
    import pytest
    @pytest.mark.parametrize("n", range(200))
    def test_a(n): assert n < 0
    def test_b(): assert 1 > 2
    """
    server = serve({"test_it.py": text})
    folded = server.run()
    assert [test["node_id"] for test in folded["tests"]] == ["test_it.py::test_a[0]", "test_it.py::test_b"]
    assert folded["tests"][0]["same_cause"] == {"count": 199, "node_ids": ["test_it.py::test_a[{1..199}]"]}
    assert counts(folded) == {"failed": 201}
    assert len(server.run(verbosity=1)["tests"]) == 201


def test_a_project_below_its_repository_reports_node_ids_that_can_be_run_again(serve: Serve) -> None:
    server = serve(
        {"pytest.ini": "[pytest]\n", "sub/pytest.ini": "[pytest]\n", "sub/test_it.py": "def test_a(): pass\n"}
    )
    answer = server.run(node_ids=["sub/test_it.py"], verbosity=1)
    assert [test["node_id"] for test in answer["tests"]] == ["sub/test_it.py::test_a"]


def test_a_project_inside_another_reports_node_ids_that_can_be_run_again(serve: Serve) -> None:
    files = {"../pytest.ini": "[pytest]\n", "tests/test_it.py": "def test_a(): pass\n"}
    answer = serve(files).run(verbosity=1)
    assert [test["node_id"] for test in answer["tests"]] == ["tests/test_it.py::test_a"]
