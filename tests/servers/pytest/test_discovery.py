"""Discovery: everything that can be run is listed, with true lines; what is broken is data."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.servers.pytest.conftest import Answer, Server

Serve = Callable[..., Server]

FILES = {
    "pytest.ini": "[pytest]\naddopts = --doctest-modules\nmarkers =\n    slow\n",
    "shop/money.py": '''
        def add(a, b):
            """Sum.

            >>> add(1, 2)
            3
            """
            return a + b
    ''',
    "tests/test_user.py": """
        import unittest

        import pytest


        def test_plain():
            pass


        @pytest.mark.slow
        @pytest.mark.parametrize("name", ["ada", "x y"])
        def test_decorated(name):
            pass


        class TestOuter:
            class TestInner:
                async def test_nested(self):
                    pass


        class TestOld(unittest.TestCase):
            @unittest.skipIf(False, "never")
            def test_method(self):
                pass
    """,
    "tests/test_zero.py": "def test_zero(): pass\n",
}


def find(answer: Answer, node_id: str) -> Answer:
    return next(test for test in answer["tests"] if test["node_id"] == node_id)


def test_every_kind_of_test_is_listed_with_the_line_of_its_def(serve: Serve) -> None:
    answer = serve(FILES).discover()
    assert answer["count"] == 7 == len(answer["tests"])
    assert answer["collection_errors"] == []
    assert answer["next_offset"] is None
    assert find(answer, "tests/test_user.py::test_plain") == {
        "node_id": "tests/test_user.py::test_plain",
        "module": "tests.test_user",
        "class": None,
        "function": "test_plain",
        "file": "tests/test_user.py",
        "line": 7,
    }
    assert find(answer, "tests/test_user.py::test_decorated[x y]") == {
        "node_id": "tests/test_user.py::test_decorated[x y]",
        "module": "tests.test_user",
        "class": None,
        "function": "test_decorated",
        "file": "tests/test_user.py",
        "line": 13,
        "markers": ["slow"],
    }
    nested = find(answer, "tests/test_user.py::TestOuter::TestInner::test_nested")
    assert (nested["class"], nested["line"]) == ("TestOuter.TestInner", 19)
    old = find(answer, "tests/test_user.py::TestOld::test_method")
    assert (old["class"], old["function"], old["line"]) == ("TestOld", "test_method", 25)
    doctest = find(answer, "shop/money.py::money.add")
    assert (doctest["file"], doctest["module"]) == ("shop/money.py", "shop.money")


def test_what_is_listed_can_be_run(serve: Serve) -> None:
    server = serve(FILES)
    listed = [test["node_id"] for test in server.discover()["tests"] if "nested" not in test["node_id"]]
    assert server.run(node_ids=listed)["summary"]["passed"] == len(listed)


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ({"path": "tests"}, 6),
        ({"path": "tests/test_zero.py"}, 1),
        ({"markers": "slow"}, 2),
        ({"keywords": "plain or zero"}, 2),
        ({"pattern": "*_zero.py"}, 2),
        ({"pattern": "nothing_*.py", "path": "tests"}, 0),
    ],
)
def test_each_parameter_narrows_what_is_listed(
    serve: Serve, arguments: dict[str, object], count: int
) -> None:
    answer = serve(FILES).discover(**arguments)
    assert answer["count"] == count == len(answer["tests"])


def test_pages_follow_each_other_without_gap_or_overlap(serve: Serve) -> None:
    server = serve(FILES)
    whole = server.discover(compact=True)
    first = server.discover(compact=True, limit=3)
    second = server.discover(compact=True, limit=3, offset=first["next_offset"])
    third = server.discover(compact=True, limit=3, offset=second["next_offset"])
    assert first["node_ids"] + second["node_ids"] + third["node_ids"] == whole["node_ids"]
    assert (third["next_offset"], third["count"], whole["tests"]) == (None, 7, [])


def test_broken_files_are_data_beside_the_rest(serve: Serve) -> None:
    answer = serve(
        {
            "tests/test_good.py": "def test_one(): pass\n",
            "tests/test_syntax.py": "x = 1\n\ndef test_two(:\n    pass\n",
            "tests/test_import.py": "import tests_helper\n",
            "tests_helper.py": "from json import not_in_json\n",
            "tests/test_raises.py": "import os\n\nprices = {}\nprices['tea']\n",
            "tests/test_fixture.py": "import pytest\n@pytest.mark.parametrize('a')\ndef test_x(): pass\n",
            "pytest.ini": "[pytest]\npythonpath = .\n",
        }
    ).discover()
    assert [test["node_id"] for test in answer["tests"]] == ["tests/test_good.py::test_one"]
    errors = {error["file"]: error for error in answer["collection_errors"]}
    syntax = errors["tests/test_syntax.py"]
    assert (syntax["error_type"], syntax["line"]) == ("SyntaxError", 3)
    assert syntax["traceback"].startswith('  File "tests/test_syntax.py", line 3')
    imported = errors["tests/test_import.py"]
    assert (imported["error_type"], imported["line"]) == ("ImportError", 1)
    assert imported["message"].startswith("cannot import name 'not_in_json' from 'json'")
    assert '  File "tests_helper.py", line 1' in imported["traceback"]
    assert "_pytest" not in imported["traceback"]
    raised = errors["tests/test_raises.py"]
    assert (raised["error_type"], raised["line"], raised["message"]) == ("KeyError", 4, "'tea'")
    assert len(errors) == 4


def test_a_project_that_stops_at_the_first_failure_still_lists_the_rest(serve: Serve) -> None:
    files = {"pytest.ini": "[pytest]\naddopts = -x\n", "test_a.py": "import nowhere\n"}
    answer = serve({**files, "test_b.py": "def test_b(): pass\n"}).discover()
    assert (answer["count"], len(answer["collection_errors"])) == (1, 1)


def test_a_broken_conftest_is_data_too(serve: Serve) -> None:
    answer = serve({"conftest.py": "import nowhere\n", "test_a.py": "def test_a(): pass\n"}).discover()
    assert (answer["count"], answer["collection_errors"][0]["file"]) == (0, "conftest.py")


def test_a_project_without_tests_is_an_empty_list(serve: Serve) -> None:
    assert serve({"readme.txt": ""}).discover()["count"] == 0


def test_discovery_under_xdist_lists_the_same(serve: Serve) -> None:
    files = {
        "pytest.ini": "[pytest]\naddopts = -p xdist -p xdist.looponfail -n 2\n",
        "test_a.py": "def test_a(): pass\n",
    }
    assert serve(files).discover()["count"] == 1


def test_a_hook_that_breaks_collection_is_a_fault(serve: Serve) -> None:
    files = {
        "conftest.py": "def pytest_collection_modifyitems(): raise RuntimeError('no')\n",
        "test_a.py": "def test_a(): pass\n",
    }
    assert serve(files).fail("discover_tests")["data"]["kind"] == "engine_error"


def test_a_module_that_leaves_during_collection_is_a_crash(serve: Serve) -> None:
    error = serve({"test_a.py": "import os\nos._exit(0)\n"}).fail("discover_tests")
    assert (error["data"]["kind"], error["data"]["exit_code"]) == ("crash", 0)
