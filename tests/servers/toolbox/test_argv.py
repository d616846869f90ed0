"""Command lines: no value becomes code, and a number below zero is no option."""

from pathlib import Path

import pytest

from faultless.servers.toolbox.argv import TemplateError, check_template, parse_line, parse_list
from faultless.servers.toolbox.definition import (
    BrokenDefinitionError,
    Command,
    Definition,
    Script,
    Traits,
    define_tool,
)

CODE = [
    ["bash", "-c", "echo {x}"],
    ["/bin/sh", "-c", "grep '{x}' file"],
    ["bash", "-lc", "{x}"],
    ["bash", "-o", "pipefail", "-ec", "a | b {x}"],
    ["bash", "-c", "-l", "a {x}"],
    ["env", "A=1", "sh", "-c", "{x}"],
    ["timeout", "5", "sh", "-c", "{x}"],
    ["find", ".", "-exec", "sh", "-c", "{x}", ";"],
    ["xargs", "sh", "-c", "{x}"],
    ["su", "me", "-c", "{x}"],
    ["python3", "-c", "print({x})"],
    ["perl", "-ne", "print if /{x}/"],
    ["node", "-e", "f('{x}')"],
    ["node", "--eval=f({x})"],
    ["ruby", "-e", "{x}"],
    ["php", "-r", "{x}"],
    ["bash", ["-c", "echo {x}"]],
]
NO_CODE = [
    ["sh", "-c", 'grep -- "$1" file', "sh", "{x}"],
    ["bash", "script.sh", "-c", "{x}"],
    ["grep", "bash", "-c", "{x}"],
    ["python3", "-m", "module", "-c", "{x}"],
    ["perl", "program.pl", "-e", "{x}"],
    ["cc", "-c", "{x}"],
]
ONE = {"x": {"type": "string"}}


@pytest.mark.parametrize("command", CODE, ids=str)
def test_a_slot_in_the_text_that_a_shell_runs_is_refused(command: list[str | list[str]]) -> None:
    with pytest.raises(TemplateError, match=r"stands inside the text .* runs, where a value is read as code"):
        check_template(parse_list(command), ONE, {"x"})


@pytest.mark.parametrize("command", NO_CODE, ids=str)
def test_a_slot_beside_that_text_is_let_in(command: list[str]) -> None:
    check_template(parse_list(command), ONE, {"x"})


def test_a_header_is_held_to_the_same() -> None:
    with pytest.raises(TemplateError, match="read as code"):
        check_template(parse_line("sh -c 'echo {x}'"), ONE, {"x"})


def define(line: str, rule: dict[str, object]) -> Definition:
    schema = {"type": "object", "properties": {"n": rule}, "required": ["n"]}
    action = Script(Path("/x"), parse_line(line))
    return define_tool("t", "", source="t", action=action, schema=schema, traits=Traits())


@pytest.mark.parametrize("line", ["-- {n}", "--lines={n}", "-n{n}", "--lines={n} -- x"])
def test_a_number_below_zero_reaches_a_program_that_cannot_mistake_it(line: str) -> None:
    definition = define(line, {"type": "integer"})
    assert definition.remarks == ()
    assert definition.checker.find_violations({"n": -5}) == []
    assert isinstance(definition.action, Script)
    assert "-5" in " ".join(definition.action.template.render({"n": -5}))


@pytest.mark.parametrize("line", ["{n}", "-n {n}", "{n} -- x"])
def test_elsewhere_the_author_is_told_and_the_model_sees_a_minimum(line: str) -> None:
    definition = define(line, {"type": "integer"})
    assert definition.input_schema["properties"]["n"]["minimum"] == 0
    assert definition.remarks == (
        "{n} takes no number below zero, which could be read as an option: write -- before it, or --option={n}",
    )
    (violation,) = definition.checker.find_violations({"n": -5})
    assert violation["detail"] == "value must be at least 0"


def test_a_default_below_zero_that_could_be_an_option_is_refused() -> None:
    with pytest.raises(BrokenDefinitionError, match="the default of n could be read as an option"):
        define("{n}", {"type": "integer", "default": -1})


def test_a_minimum_that_is_there_is_kept() -> None:
    assert define("{n}", {"type": "number", "minimum": 3}).input_schema["properties"]["n"]["minimum"] == 3


def test_a_command_of_tools_toml_is_checked_when_the_folder_is_read() -> None:
    schema = {"type": "object", "properties": ONE, "required": ["x"]}
    with pytest.raises(BrokenDefinitionError, match="read as code"):
        define_tool(
            "t",
            "",
            source="tools.toml",
            action=Command(parse_list(["bash", "-c", "{x}"]), None),
            schema=schema,
            traits=Traits(),
        )
