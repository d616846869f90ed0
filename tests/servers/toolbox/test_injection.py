"""Values that want to be something else: they arrive unchanged, or are refused."""

import json
from pathlib import Path

import pytest

from faultless.contract import FaultKind, read
from faultless.testing import WireClient

HOSTILE = {
    "single quotes": "it's 'quoted'",
    "double quotes": 'say "hi" and \\"bye\\"',
    "a command substitution": "$(touch injected)",
    "backticks": "`touch injected`",
    "a semicolon": "; touch injected",
    "a pipe": "| touch injected",
    "an ampersand": "& touch injected &",
    "a redirection": "> injected",
    "a variable": "$HOME ${PATH} $ARG_TEXT",
    "a newline": "first\nsecond\n\n",
    "a carriage return and a tab": "a\r\n\tb",
    "a backslash at the end": "back\\",
    "a glob": "* ? [a-z] ~",
    "a format": "%s %n %d {text} {{x}}",
    "brace expansion": "{a,b}{1..3}",
    "history expansion": "!! !$",
    "a function in a variable": "() { :;}; touch injected",
    "an arithmetic trap": "a[$(touch injected)]",
    "a leading dash": "-rf",
    "a long option": "--help",
    "a lone dash": "-",
    "two dashes": "--",
    "an empty string": "",
    "spaces": "  both ends  ",
    "accents and emoji": "naïve café 🙂 日本語",
    "right to left": "\u202eabc\u202c",
    "combining marks": "e\u0301",
    "a character beyond the basic plane": "\U0001f600",
    "the last character": "\U0010ffff",
    "an escape sequence": "\x1b[31mred\x1b[0m",
    "NUL": "a\x00b",
    "JSON in text": '{"text": "other"}',
    "a path upwards": "../../etc/passwd",
    "ten thousand characters": "ä" * 10_000,
}
DASHED = {"a leading dash", "a long option", "a lone dash", "two dashes"}


def is_refused(answer: dict[str, object]) -> bool:
    fault = read(answer).fault
    return fault is not None and fault.kind is FaultKind.INVALID_PARAMS


@pytest.mark.parametrize("name", HOSTILE)
def test_a_script_gets_the_value_by_three_ways_or_not_at_all(specimen: WireClient, name: str) -> None:
    value = HOSTILE[name]
    answer = specimen.call("reflect", {"text": value})
    if "\0" in value:
        assert is_refused(answer)
        return
    stdin, *rest = answer["result"]["content"][0]["text"].split("\0")
    assert json.loads(stdin) == {"text": value}
    assert rest == [value, f"--glued={value}", "--", value, "."]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_function_gets_the_value_unchanged(specimen: WireClient, name: str) -> None:
    assert specimen.call("py_reflect", {"text": HOSTILE[name]})["result"]["structuredContent"] == {
        "text": HOSTILE[name]
    }


@pytest.mark.parametrize("name", HOSTILE)
def test_an_mcbox_function_gets_the_json_unchanged(specimen: WireClient, name: str) -> None:
    answer = specimen.call("bash_reflect", {"text": HOSTILE[name]})
    assert json.loads(answer["result"]["content"][0]["text"]) == {"text": HOSTILE[name]}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_command_gets_the_value_as_one_element_or_not_at_all(specimen: WireClient, name: str) -> None:
    value = HOSTILE[name]
    guarded = specimen.call("toml_guarded", {"text": value})
    bare = specimen.call("toml_reflect", {"text": value})
    if "\0" in value:
        assert is_refused(guarded)
        assert is_refused(bare)
        return
    assert guarded["result"]["content"][0]["text"] == value.rstrip("\n")
    if name in DASHED:
        assert is_refused(bare)
    else:
        assert bare["result"]["content"][0]["text"] == value.rstrip("\n")


def test_nothing_was_injected(specimen: WireClient, workplace: Path, specimen_folder: Path) -> None:
    for value in HOSTILE.values():
        specimen.call("wants_variable", {"text": value})
    assert not (workplace / "injected").exists()
    assert not (specimen_folder / "injected").exists()
