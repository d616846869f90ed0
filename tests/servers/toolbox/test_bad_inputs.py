"""Whatever goes wrong: the prescribed answer, and a session that lives on."""

import json
from pathlib import Path
from typing import Any

import psutil
import pytest

from faultless.contract import read
from faultless.testing import ERAS, Era, WireClient
from tests.servers.toolbox.cases import ARGUMENTS, CASES, MISSING, Case
from tests.servers.toolbox.conftest import TOKEN, in_memory


def complaints(case: Case, answer: dict[str, Any]) -> list[str]:
    """What is wrong with an answer; nothing is what all of them must have."""
    fault = read(answer).fault
    if fault is None:
        return [f"no fault in {json.dumps(answer)[:300]}"]
    found = {"kind": fault.kind.value, "message": fault.message, "code": answer.get("error", {}).get("code")}
    wanted = {"kind": case.kind, "message": case.message, "code": case.code}
    if case.code is None:
        result = answer["result"]
        texts = [block["text"] for block in result["content"]]
        found |= {
            "isError": result["isError"],
            "structured": result.get("structuredContent"),
            "last": texts[-1],
        }
        wanted |= {"isError": True, "structured": None, "last": f"{case.message}. Hint: {fault.hint}"}
        if case.output is not MISSING:
            found["first"], wanted["first"] = texts[0], case.output or wanted["last"]
    found |= {name: fault.details.get(name) for name in case.details}
    wanted |= case.details
    return [
        f"{name}: {found[name]!r} instead of {wanted[name]!r}"
        for name in wanted
        if found[name] != wanted[name]
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_what_goes_wrong_gets_its_exact_answer(specimen: WireClient, case: Case) -> None:
    assert complaints(case, specimen.call(case.tool, case.arguments)) == []


def test_a_planted_difference_is_seen(specimen: WireClient) -> None:
    right = next(case for case in CASES if case.tool == "fail")
    wrong = Case(
        right.sentence, "fail", "crash", "another message", output="all of it", details={"exit_code": 4}
    )
    assert len(complaints(wrong, specimen.call("fail"))) == 5


def test_the_session_lives_after_all_of_it(specimen: WireClient) -> None:
    assert specimen.call("grumble")["result"]["content"] == [{"type": "text", "text": "answer"}]


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_faults_as_results_turns_refusals_into_results(
    specimen_folder: Path, workplace: Path, era: Era
) -> None:
    async with in_memory(specimen_folder, workplace, era, faults="result") as server:
        for case in ARGUMENTS[:3]:
            result = (await server.call(case.tool, case.arguments))["result"]
            assert result["isError"] is True
            (block,) = result["content"]
            assert json.loads(block["text"])["fault"]["message"] == case.message
        assert "error" in await server.call("nobody_knows")


def test_all_violations_come_with_their_places_and_the_allowed_values(specimen: WireClient) -> None:
    arguments = {"path": 1, "mode": "medium", "tags": [1, "b", 2], "strange": True}
    data = specimen.call("typed", arguments)["error"]["data"]
    assert {violation["field"] for violation in data["violations"]} == {
        "path",
        "mode",
        "tags.0",
        "tags.2",
        "strange",
    }
    assert [it["allowed"] for it in data["violations"] if it["field"] == "mode"] == [["fast", "slow"]]
    assert data["hint"] == "the parameters are: path, limit, mode, tags, note, ratio"


@pytest.mark.parametrize("tool", ["leave_child", "py_leave_child", "py_leave_daemon"])
def test_a_leftover_process_is_ended_with_its_tool(specimen: WireClient, tool: str) -> None:
    result = specimen.call(tool)["result"]
    pid = result.get("structuredContent", {}).get("result") or int(result["content"][0]["text"])
    assert not psutil.pid_exists(pid)


def test_standard_error_of_a_success_goes_to_the_log_only(specimen: WireClient) -> None:
    answer = specimen.call("grumble")
    assert "talk for the log" not in json.dumps(answer)
    assert "talk for the log" in specimen.stderr()


def test_what_a_function_prints_is_not_its_answer(specimen: WireClient) -> None:
    answer = specimen.call("py_print", {"text": "printed words"})
    assert answer["result"]["content"] == [{"type": "text", "text": "returned"}]
    assert "printed words" in specimen.stderr()


def test_too_much_output_keeps_both_ends_and_says_how_much_is_missing(specimen: WireClient) -> None:
    result = specimen.call("flood")["result"]
    text = result["content"][0]["text"]
    dropped = result["_meta"]["dropped_bytes"]
    assert text.startswith("begin\nxxx")
    assert text.endswith("xxx\nend")
    assert f"[{dropped} bytes dropped]" in text
    assert dropped == 1_000_011 - 100_000


def test_bytes_that_are_not_utf8_are_replaced_and_counted(specimen: WireClient) -> None:
    result = specimen.call("latin1")["result"]
    assert result["content"][0]["text"] == "caf\ufffd \ufffd"
    assert result["_meta"]["invalid_utf8_bytes"] == 2


def test_half_a_character_from_a_function_is_replaced(specimen: WireClient) -> None:
    assert specimen.call("py_surrogate")["result"]["content"][0]["text"] == "caf\ufffd"


def test_a_secret_is_kept_out_of_faults_and_logs(specimen: WireClient) -> None:
    answer = specimen.call("secretive")
    assert TOKEN not in json.dumps(answer)
    assert TOKEN not in specimen.stderr()
    fault = read(answer).fault
    assert fault is not None
    assert fault.message == "secretive failed with exit code 1: cannot log in with [SPECIMEN_TOKEN]"
    assert fault.details["output"] == "output [SPECIMEN_TOKEN]\n"


def test_a_tool_sees_only_the_variables_it_was_promised(specimen: WireClient) -> None:
    names = specimen.call("environment")["result"]["content"][0]["text"].split()
    assert set(names) - {"PWD", "SHLVL", "_"} <= {
        "PATH",
        "HOME",
        "LANG",
        "TMPDIR",
        "ARG_SOME_NAME",
        "SPECIMEN_TOKEN",
    }
    assert {"PATH", "HOME", "SPECIMEN_TOKEN", "ARG_SOME_NAME"} <= set(names)


def test_a_script_without_tools_is_not_imported(specimen: WireClient, workplace: Path) -> None:
    specimen.request("tools/list")
    assert (workplace / "imported-although-it-is-a-script").exists()


@pytest.mark.parametrize("tool", ["sized", "bash_size", "py_reflect"])
def test_a_megabyte_of_arguments_arrives(specimen: WireClient, tool: str) -> None:
    result = specimen.call(tool, {"text": "x" * 1_000_000})["result"]
    if tool == "py_reflect":
        assert len(result["structuredContent"]["text"]) == 1_000_000
    else:
        assert result["content"][0]["text"].strip() == str(len('{"text":""}') + 1_000_000)
