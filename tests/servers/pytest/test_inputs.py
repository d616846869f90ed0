"""What is refused before pytest starts, and that nothing else reaches its command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers.pytest.conftest import Server, WriteProject

Serve = Callable[..., Server]
FILES = {"tests/test_user.py": "def test_a(): pass\n", "../outside/test_secret.py": "def test_a(): pass\n"}

REFUSED = [
    ("verbosity", 10, "value must be between -2 and 2"),
    ("verbosity", "1", "value must be an integer"),
    ("timeout", 0, "value must be at least 1"),
    ("timeout", 999_999, "value must be at most 3600, this server's --max-timeout"),
    ("maxfail", 0, "value must be at least 1"),
    ("failfast", "yes", "value must be a boolean"),
    ("plugins", ["os"], "unknown parameter"),
    ("markers", "slow and", "expected a name, 'not' or '(', got end of the expression at position 9"),
    ("markers", "slow or (fast", "expected ')', got end of the expression at position 14"),
    ("markers", "a b", "expected end of the expression, got 'b' at position 3"),
    (
        "markers",
        "level(n=1.5)",
        "expected quoted text, a number, True, False or None, got '1.5' at position 9",
    ),
    ("markers", "a; import os", "unexpected ';' at position 2"),
    ("keywords", "one and not", "expected a name, 'not' or '(', got end of the expression at position 12"),
    ("keywords", "a(b=1)", "expected end of the expression, got '(' at position 2"),
]


@pytest.mark.parametrize(("field", "value", "detail"), REFUSED)
def test_a_bad_value_is_refused_with_field_detail_and_value(
    serve: Serve, field: str, value: object, detail: str
) -> None:
    error = serve(FILES).fail("execute_tests", **{field: value})
    assert error["code"] == -32602
    assert error["message"].startswith(f"Invalid params: {field}: ")
    data = error["data"]
    assert (data["field"], data["received_value"]) == (field, value)
    assert data["detail"].startswith(detail)


def test_failfast_and_maxfail_exclude_each_other(serve: Serve) -> None:
    error = serve(FILES).fail(failfast=True, maxfail=2)
    assert "failfast and maxfail exclude each other" in error["message"]


@pytest.mark.parametrize(
    "node_id",
    [
        "-x",
        "--pdb",
        "@arguments.txt",
        "",
        "../outside/test_secret.py",
        "tests/../../outside/test_secret.py",
        "/etc/passwd",
        "link/test_secret.py",
        "tests/test_missing.py",
        "a\0b",
        "x" * 5000,
    ],
)
def test_a_node_id_that_is_no_test_of_this_project_is_refused(
    serve: Serve, write_project: WriteProject, node_id: str
) -> None:
    server = serve(FILES)
    root = write_project({})
    (root / "link").symlink_to(root.parent / "outside")
    error = server.fail(node_ids=["tests/test_user.py", node_id])
    assert (error["code"], error["data"]["kind"]) == (-32602, "invalid_params")
    assert error["data"]["field"] == "node_ids.1"


def test_a_misspelt_file_gets_a_suggestion(serve: Serve) -> None:
    error = serve(FILES).fail(node_ids=["tests/test_usr.py::test_a"])
    assert error["data"]["hint"] == "did you mean tests/test_user.py?"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"path": "../outside"}, "path"),
        ({"path": "tests/nothing"}, "path"),
        ({"path": "-x"}, "path"),
        ({"path": "pipe"}, "path"),
        ({"pattern": "[a"}, "pattern"),
        ({"pattern": "/etc/*"}, "pattern"),
        ({"pattern": "../*.py"}, "pattern"),
        ({"pattern": ""}, "pattern"),
        ({"limit": 0}, "limit"),
        ({"offset": -1}, "offset"),
        ({"markers": "("}, "markers"),
    ],
)
def test_bad_discovery_arguments_are_refused(
    serve: Serve, write_project: WriteProject, arguments: dict[str, object], field: str
) -> None:
    server = serve(FILES)
    os.mkfifo(write_project({}) / "pipe")
    error = server.fail("discover_tests", **arguments)
    assert (error["code"], error["data"]["field"]) == (-32602, field)


def test_an_expression_that_starts_with_a_dash_is_no_option(serve: Serve) -> None:
    answer = serve(FILES).run(keywords="--version")
    assert (answer["exit_code"], answer["summary"]["deselected"]) == (5, 1)


def test_an_absolute_path_inside_the_root_is_accepted(serve: Serve, write_project: WriteProject) -> None:
    server = serve(FILES)
    path: Path = write_project({}) / "tests" / "test_user.py"
    assert server.run(node_ids=[f"{path}::test_a"])["summary"]["passed"] == 1
