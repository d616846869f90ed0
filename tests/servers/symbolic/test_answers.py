"""What the five tools answer, asked through a real server process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faultless.contract.reader import read
from faultless.testing import WireClient, golden
from tests.servers.symbolic.conftest import COMMAND, Ask
from tests.servers.symbolic.pasted import fails, fails_as_a_test

GOLDEN = Path(__file__).parent / "golden"
PARITY = '''
def f(x: int) -> int:
    """
    pre: x > 0
    post: _ > x
    """
    if x == 123456:
        return 0
    return x + 1
'''


def test_the_modern_era_is_offered_the_same_tools(symbolic_server: WireClient) -> None:
    with WireClient(COMMAND) as client:
        tools = client.open("modern").request("tools/list")["result"]["tools"]
    assert tools == symbolic_server.request("tools/list")["result"]["tools"]


def test_the_tools_are_what_the_golden_files_say(symbolic_server: WireClient) -> None:
    tools = symbolic_server.request("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == [
        "symbolic_check",
        "find_path_to_exception",
        "compare_functions",
        "analyze_branches",
        "health_check",
    ]
    for tool in tools:
        golden(GOLDEN / f"{tool['name']}.json", tool)


def test_a_counterexample_is_small_real_and_reproducible(ask: Ask, tmp_path: Path) -> None:
    answer = ask("symbolic_check", code=PARITY, function_name="f", timeout_seconds=10)
    assert answer["status"] == "counterexample"
    (found,) = answer["counterexamples"]
    assert found["args"] == ["123456"]
    assert found["kwargs"] == {}
    assert found["actual_result"] == "0"
    assert found["path_condition"] == "x == 123456"
    assert "_ > x" in found["violation"]
    assert answer["engines"]["winner"] in {"symbolic", "random"}
    assert answer["isolation"]["level"] in {"strict", "partial", "none"}
    assert 0 < answer["coverage_estimate"] <= 1
    assert fails_as_a_test(PARITY, found["reproduction"], tmp_path)


def test_the_same_function_without_its_bug_is_verified(ask: Ask) -> None:
    answer = ask(
        "symbolic_check",
        code=PARITY.replace("return 0", "return x + 2"),
        function_name="f",
        timeout_seconds=20,
    )
    assert answer["status"] == "verified"
    assert answer["confidence"] == "proven"
    assert answer["paths_verified"] == answer["paths_explored"] > 0
    assert answer["coverage_estimate"] == 1.0
    assert "an argument annotated int is an int, not a bool" in answer["assumptions"]


def test_a_function_without_a_contract_is_said_to_have_none(ask: Ask) -> None:
    answer = ask(
        "symbolic_check",
        code="def f(x: int) -> int:\n    return x + 1\n",
        function_name="f",
        timeout_seconds=20,
    )
    assert answer["status"] == "verified"
    assert "has no contract" in answer["message"]


def test_an_unsatisfiable_precondition_is_vacuous(ask: Ask) -> None:
    code = (
        'def f(x: int) -> int:\n    """\n    pre: x > 3 and x < 2\n    post: _ == 7\n    """\n    return x\n'
    )
    answer = ask("symbolic_check", code=code, function_name="f", timeout_seconds=20)
    assert (answer["status"], answer["error_type"]) == ("error", "ValueError")
    assert "vacuous" in answer["message"]


@pytest.mark.parametrize(
    ("clause", "line"), [("post: _ >", 4), ("post: nowhere > 1", 4), ("raises: Nothing", 4)]
)
def test_a_contract_that_cannot_be_read_is_an_error_with_its_line(clause: str, line: int, ask: Ask) -> None:
    code = f'def f(x: int) -> int:\n    """Doc.\n\n    {clause}\n    post: True\n    """\n    return x\n'
    answer = ask("symbolic_check", code=code, function_name="f", timeout_seconds=5)
    assert (answer["status"], answer["error_type"]) == ("error", "SyntaxError")
    assert answer["details"]["line"] == line
    assert f"line {line}" in answer["message"]


ICONTRACT = """
import icontract

@icontract.require(lambda x: x >= 0)
@icontract.ensure(lambda x, result: result * result <= x)
def f(x: int) -> int:
    return x // 2
"""
DEAL = """
import deal

@deal.pre(lambda x: x >= 0)
@deal.post(lambda result: result < 100)
@deal.raises(ValueError)
def f(x: int) -> int:
    if x == 5:
        raise ValueError
    return x
"""


@pytest.mark.parametrize("code", [ICONTRACT, DEAL], ids=["icontract", "deal"])
def test_contracts_of_libraries_are_checked(code: str, ask: Ask) -> None:
    answer = ask("symbolic_check", code=code, function_name="f", timeout_seconds=10)
    assert answer["status"] == "counterexample", answer
    (found,) = answer["counterexamples"]
    assert fails(code, found["reproduction"])


def test_raise_sites_are_reported_one_by_one(ask: Ask) -> None:
    code = """
class Refused(ValueError):
    pass

def f(x: int) -> int:
    if x == 1001:
        raise Refused("first")
    if x < -500:
        raise ValueError("second")
    if x == 7:
        raise KeyError(x)
    return x
"""
    answer = ask(
        "find_path_to_exception",
        code=code,
        function_name="f",
        exception_type="ValueError",
        timeout_seconds=10,
    )
    assert answer["status"] == "found"
    assert [item["line"] for item in answer["triggering_inputs"]] == [7, 9]
    assert answer["paths_to_exception"] == 2
    first = answer["triggering_inputs"][0]
    assert first["exception"] == "Refused: first"
    assert first["stack_trace"] == ['line 7, in f: raise Refused("first")']
    assert fails(code, first["reproduction"])


def test_inputs_that_never_end_are_not_called_a_vacuous_precondition(ask: Ask) -> None:
    code = "def f(x: int) -> int:\n    while True:\n        pass\n"
    answer = ask("symbolic_check", code=code, function_name="f", timeout_seconds=2)
    assert answer["status"] == "timeout"
    assert "ran too long" in answer["message"]
    assert "vacuous" not in answer["message"]


def test_an_unsupported_annotation_is_named_whole(ask: Ask) -> None:
    code = "from typing import Callable\ndef f(g: Callable[[int], int]) -> int:\n    return g(1)\n"
    answer = ask("symbolic_check", code=code, function_name="f", timeout_seconds=5)
    assert answer["message"] == "The annotation Callable[[int], int] is not supported"


def test_health_says_what_runs_and_how_it_is_contained(ask: Ask) -> None:
    answer = ask("health_check")
    assert answer["status"] == "healthy"
    assert answer["crosshair_version"] == "0.0.112"
    assert answer["memory_usage_mb"] > 10
    assert answer["isolation"]["layers"]


FAULTS: dict[str, tuple[str, dict[str, object], str, str]] = {
    "no such function": (
        "symbolic_check",
        {"code": "def g(): pass", "function_name": "f"},
        "ValueError",
        "not_found",
    ),
    "a bad timeout": (
        "symbolic_check",
        {"code": "def f(): pass", "function_name": "f", "timeout_seconds": -1},
        "ValueError",
        "invalid_params",
    ),
    "a syntax error": (
        "symbolic_check",
        {"code": "def f(:\n", "function_name": "f"},
        "SyntaxError",
        "parse_error",
    ),
    "a blocked call": (
        "compare_functions",
        {"code": "def f(x: int): return eval('x')", "function_a": "f", "function_b": "f"},
        "ValidationError",
        "permission_denied",
    ),
    "a blocked import": (
        "analyze_branches",
        {"code": "import os\ndef f(): pass", "function_name": "f"},
        "ValidationError",
        "permission_denied",
    ),
    "a module that is not there": (
        "symbolic_check",
        {"code": "from collections import nothing_like_that\ndef f(): pass", "function_name": "f"},
        "ImportError",
        "unavailable",
    ),
    "an async function": (
        "symbolic_check",
        {"code": "async def f(): pass", "function_name": "f"},
        "NotImplementedError",
        "unsupported",
    ),
    "code that fails when loaded": (
        "find_path_to_exception",
        {"code": "1 / 0\ndef f(): pass", "function_name": "f", "exception_type": "ValueError"},
        "RuntimeError",
        "usage_error",
    ),
    "an unknown exception": (
        "find_path_to_exception",
        {"code": "def f(): pass", "function_name": "f", "exception_type": "NoSuchError"},
        "ValueError",
        "not_found",
    ),
    "loading that never ends": (
        "symbolic_check",
        {"code": "while True: pass\ndef f(): pass", "function_name": "f", "timeout_seconds": 20},
        "TimeoutError",
        "timeout",
    ),
    "an annotation out of reach": (
        "symbolic_check",
        {
            "code": "from typing import Callable\ndef f(x: Callable[[], int]) -> int: return x()",
            "function_name": "f",
        },
        "NotImplementedError",
        "unsupported",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_its_type_and_every_field_of_the_answer(name: str, symbolic_server: WireClient) -> None:
    tool, arguments, error_type, kind = FAULTS[name]
    response = symbolic_server.call(tool, arguments)
    answer = json.loads(response["result"]["content"][0]["text"])
    assert response["result"]["isError"] is True
    assert "structuredContent" not in response["result"]
    assert (answer["status"], answer["error_type"], answer["kind"]) == ("error", error_type, kind), answer
    (described,) = [
        entry for entry in symbolic_server.request("tools/list")["result"]["tools"] if entry["name"] == tool
    ]
    assert set(described["outputSchema"]["properties"]) <= set(answer)
    text = json.dumps(answer)
    assert "Traceback" not in text
    assert "site-packages" not in text
    fault = read(response).fault
    assert fault is not None
    assert fault.kind.value == kind


def test_code_over_the_limit_is_too_large(ask: Ask) -> None:
    answer = ask("symbolic_check", code="#" * 70_000, function_name="f")
    assert answer["kind"] == "too_large"


def test_resources_and_prompts_work(symbolic_server: WireClient) -> None:
    for uri in ("config://security", "config://server", "info://capabilities"):
        contents = symbolic_server.request("resources/read", {"uri": uri})["result"]["contents"]
        assert json.loads(contents[0]["text"])
    prompts = symbolic_server.request("prompts/list")["result"]["prompts"]
    assert len(prompts) == 4
    for prompt in prompts:
        given = {argument["name"]: f"value of {argument['name']}" for argument in prompt["arguments"]}
        rendered = symbolic_server.request("prompts/get", {"name": prompt["name"], "arguments": given})
        text = json.dumps(rendered["result"]["messages"])
        assert all(value in text for value in given.values())


GENERATOR = "def f(x: int):\n    yield x\n    yield 1 // x\n"
VARIADIC = 'def f(x: int, *more: int) -> int:\n    """post: _ == x"""\n    return x + len(more)\n'
TWO_GENERATORS = "def a(x: int):\n    yield x\n\ndef b(x: int):\n    yield x\n    raise KeyError\n"


def test_the_reproduction_of_a_generator_asks_for_its_items(ask: Ask) -> None:
    answer = ask(
        "find_path_to_exception",
        code=GENERATOR,
        function_name="f",
        exception_type="ZeroDivisionError",
        timeout_seconds=20,
    )
    assert answer["status"] == "found", answer
    assert fails(GENERATOR, answer["triggering_inputs"][0]["reproduction"])


def test_the_reproduction_of_two_generators_asks_for_their_items(ask: Ask) -> None:
    answer = ask("compare_functions", code=TWO_GENERATORS, function_a="a", function_b="b", timeout_seconds=20)
    assert answer["status"] == "different", answer
    assert fails(TWO_GENERATORS, answer["distinguishing_input"]["reproduction"])


def test_the_reproduction_passes_further_arguments(ask: Ask) -> None:
    answer = ask("symbolic_check", code=VARIADIC, function_name="f", timeout_seconds=20)
    assert answer["status"] == "counterexample", answer
    assert fails(VARIADIC, answer["counterexamples"][0]["reproduction"])


@pytest.mark.parametrize("decorator", ["functools.cache", "functools.lru_cache(maxsize=2)"])
def test_a_cached_function_is_analysed_but_never_proved(decorator: str, ask: Ask) -> None:
    code = f'import functools\n@{decorator}\ndef f(x: int) -> int:\n    """post: _ > x"""\n    return x + 1\n'
    kept = ask("symbolic_check", code=code, function_name="f", timeout_seconds=3)
    assert kept["status"] == "timeout", kept
    broken = ask("symbolic_check", code=code.replace("x + 1", "x"), function_name="f", timeout_seconds=20)
    assert broken["status"] == "counterexample", broken
