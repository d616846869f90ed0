"""Every template and workflow page of the style guide, against a real process, with golden answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from faultless.testing import ERAS, Era, WireClient, golden
from tests.servers.pytest.conftest import (
    EXAMPLES,
    LIGHT,
    StartServer,
    WireServer,
    WriteProject,
    is_running_a_test,
    run_into_deadline,
    serving_command,
)
from tests.servers.pytest.masking import GOLDEN, mask


@pytest.fixture(scope="module")
def shop() -> Iterator[WireServer]:
    with WireClient(serving_command(EXAMPLES / "project"), env=LIGHT) as client:
        yield WireServer(client.open("handshake"))


def check(name: str, response: dict[str, Any]) -> dict[str, Any]:
    """The part a model sees, held against its golden file."""
    part = response["error"] if "error" in response else response["result"]["structuredContent"]
    golden(GOLDEN / f"{name}.json", mask(part))
    answer: dict[str, Any] = part
    return answer


TEMPLATES: dict[str, tuple[str, dict[str, object]]] = {
    "all_passed": ("execute_tests", {"node_ids": ["tests/test_basket.py"]}),
    "one_failed": ("execute_tests", {"node_ids": ["tests/test_receipt.py"]}),
    "one_failed_verbose": ("execute_tests", {"node_ids": ["tests/test_receipt.py"], "verbosity": 1}),
    "one_failed_quiet": ("execute_tests", {"node_ids": ["tests/test_receipt.py"], "verbosity": -2}),
    "json_report": ("execute_tests", {"node_ids": ["tests/test_receipt.py"], "json_report": True}),
    "no_tests": ("execute_tests", {"node_ids": ["shop"]}),
    "validation_failure": ("execute_tests", {"verbosity": 10}),
    "discovery": ("discover_tests", {"path": "tests/test_basket.py"}),
    "discovery_compact": ("discover_tests", {"compact": True}),
    "usage_error": ("execute_tests", {"node_ids": ["tests/test_basket.py::test_nothing_like_it"]}),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_answered_as_its_golden_file_says(shop: WireServer, name: str) -> None:
    tool, arguments = TEMPLATES[name]
    check(name, shop.call(tool, arguments))


def test_a_time_out_is_answered_as_its_golden_file_says(shop: WireServer) -> None:
    check("timeout", {"error": run_into_deadline(shop, is_running_a_test, node_ids=["tests/test_stock.py"])})


def test_an_execution_failure_is_answered_as_its_golden_file_says(
    start_server: StartServer, write_project: WriteProject
) -> None:
    files = {"conftest.py": "def pytest_runtestloop():\n    raise ValueError('bad hook')\n", "test_a.py": ""}
    error = check("internal_error", start_server(write_project(files)).call("execute_tests", {}))
    assert (error["code"], error["data"]["exit_code"]) == (-32000, 3)


def test_discovery_with_broken_files_is_answered_as_its_golden_file_says(
    start_server: StartServer, write_project: WriteProject
) -> None:
    files = {
        "tests/test_valid.py": "\n\ndef test_one():\n    pass\n\n\ndef test_two():\n    pass\n",
        "tests/test_broken.py": "def test_foo(\n",
        "tests/test_import_fail.py": "from shop import NonExistent\n",
        "shop.py": "",
        "pytest.ini": "[pytest]\npythonpath = .\n",
    }
    server = start_server(write_project(files))
    answer = server.call("discover_tests", {})["result"]["structuredContent"]
    assert answer["count"] == 2
    errors = [(error["file"], error["error_type"], error["line"]) for error in answer["collection_errors"]]
    assert errors == [
        ("tests/test_broken.py", "SyntaxError", 1),
        ("tests/test_import_fail.py", "ImportError", 1),
    ]
    assert check("collection_error", server.call("execute_tests", {}))["data"]["exit_code"] == 2


@pytest.mark.parametrize("era", ERAS)
def test_both_eras_give_the_same_answers(era: Era) -> None:
    with WireClient(serving_command(EXAMPLES / "project"), env=LIGHT) as client:
        server = WireServer(client.open(era))
        tool, arguments = TEMPLATES["one_failed"]
        check("one_failed", server.call(tool, arguments))
        tool, arguments = TEMPLATES["validation_failure"]
        check("validation_failure", server.call(tool, arguments))


def test_the_schemas_are_those_of_the_golden_files(shop: WireServer) -> None:
    for tool in shop.client.request("tools/list")["result"]["tools"]:
        golden(GOLDEN / f"schema_{tool['name']}.json", tool)


def test_the_page_iterative_tdd(start_server: StartServer, write_project: WriteProject) -> None:
    files = {
        "shop.py": "def add(a, b):\n    return None\n",
        "test_shop.py": "import shop\n\ndef test_add():\n    assert shop.add(1, 2) == 3\n",
    }
    root: Path = write_project(files)
    server = start_server(root)
    red = server.run(failfast=True, verbosity=2)
    assert (red["exit_code"], red["summary"]["failed"]) == (1, 1)
    assert "assert None == 3" in red["tests"][0]["traceback"]
    (root / "shop.py").write_text("def add(a, b):\n    return a + b  # now with more bytes\n")
    green = server.run(failfast=True, verbosity=2)
    assert (green["exit_code"], green["summary"]["passed"]) == (0, 1)
    (root / "test_shop.py").write_text(
        files["test_shop.py"] + "\n\ndef test_more():\n    assert shop.add(1, 1) == 3\n"
    )
    again = server.run(failfast=True, verbosity=2)
    assert (again["exit_code"], again["summary"]["passed"], again["summary"]["failed"]) == (1, 1, 1)


def test_the_page_full_suite_validation(shop: WireServer) -> None:
    fast = shop.run(markers="not slow and not stock", keywords="basket", verbosity=0)
    slow = shop.run(markers="slow", verbosity=0, timeout=600)
    assert (fast["exit_code"], fast["summary"]["passed"]) == (0, 5)
    assert (slow["exit_code"], slow["summary"]["passed"]) == (0, 1)


def test_the_page_discovery_and_targeted_execution(shop: WireServer) -> None:
    listed = shop.discover(path="tests/")
    assert listed["count"] == 11
    by_keyword = shop.run(keywords="refused", verbosity=1)
    assert [test["node_id"] for test in by_keyword["tests"]] == [
        "tests/test_basket.py::TestTotals::TestRefusals::test_a_negative_price_is_refused"
    ]
    targeted = shop.run(node_ids=["tests/test_basket.py", "tests/test_receipt.py"])
    assert targeted["summary"]["total"] == 10


def test_the_page_error_handling_and_recovery(shop: WireServer) -> None:
    error = shop.fail(node_ids=["tests/baskte.py"])
    assert (error["code"], error["data"]["field"]) == (-32602, "node_ids.0")
    found = shop.discover(path="tests/", keywords="basket")["tests"][0]["file"]
    assert shop.run(node_ids=[found])["exit_code"] == 0


def test_a_misspelt_name_is_mended_by_its_hint(shop: WireServer) -> None:
    error = shop.fail(node_ids=["tests/test_basket.py::test_an_empty_basket_costs_nothin"])
    assert error["code"] == -32602
    candidate = error["data"]["hint"].removeprefix("did you mean ").removesuffix("?")
    assert shop.run(node_ids=[candidate])["summary"]["passed"] == 1


def test_progress_tells_how_far_it_is(start_server: StartServer, write_project: WriteProject) -> None:
    text = """
        import os, pytest

        @pytest.mark.parametrize("n", range(3))
        def test_a(n):
            assert n != 0

        def test_waits_until_told():
            with open("gate") as gate:
                gate.read()
    """
    root = write_project({"test_a.py": text})
    gate = root / "gate"
    os.mkfifo(gate)
    client = start_server(root).client
    call = {"name": "execute_tests", "arguments": {}, "_meta": {"progressToken": "watch"}}
    request = client.start("tools/call", call)
    seen: list[dict[str, Any]] = []
    while not seen or "test_waits_until_told" not in seen[-1]["message"]:
        frame = client.receive()
        assert frame["method"] == "notifications/progress", frame
        seen.append(frame["params"])
    gate.write_text("go")
    assert (seen[-1]["total"], seen[-1]["progressToken"]) == (4, "watch")
    assert seen[-1]["message"] == "1 failed; running test_a.py::test_waits_until_told"
    while (frame := client.receive()).get("id") != request:
        assert frame["method"] == "notifications/progress"
    assert frame["result"]["structuredContent"]["summary"]["total"] == 4


def test_cancelling_kills_the_tree_at_once(start_server: StartServer, write_project: WriteProject) -> None:
    text = """
        import os, subprocess, sys, threading

        def test_a():
            child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
            with open("gate", "w") as gate:
                gate.write(f"{os.getpid()} {child.pid}")
            threading.Event().wait()
    """
    root = write_project({"test_a.py": text})
    os.mkfifo(root / "gate")
    server = start_server(root)
    request = server.client.start("tools/call", {"name": "execute_tests", "arguments": {}})
    processes = [psutil.Process(int(number)) for number in (root / "gate").read_text().split()]
    cancel = {"requestId": request, "reason": "enough"}
    server.client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel})
    _, alive = psutil.wait_procs(processes, timeout=30)
    assert alive == []
    assert server.discover()["count"] == 1
