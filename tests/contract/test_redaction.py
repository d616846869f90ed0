"""What a redactor was told of never shows, whole or in part."""

import pytest

from faultless.contract import Fault, FaultKind
from faultless.contract.redaction import HIDDEN, Redactor

KEY = "zWq7-Kp2x"


def test_a_marked_value_is_replaced_by_its_mark_wherever_it_stands() -> None:
    redactor = Redactor(marks={KEY: "[KEY]", "/home/ada/tools/": ""}, guess=False)

    assert redactor.hide({KEY: ["x" + KEY, 3, None, {"a": f"/home/ada/tools/run: {KEY}"}]}) == {
        "[KEY]": ["x[KEY]", 3, None, {"a": "run: [KEY]"}]
    }


def test_of_two_values_the_longer_is_replaced_and_marks_are_not_looked_into() -> None:
    redactor = Redactor(marks={"secret": "[A]", "secret-more": "[the secret]"}, guess=False)

    assert redactor.hide_text("secret-more, secret") == "[the secret], [A]"


def test_a_value_is_found_as_it_looks_inside_json() -> None:
    assert Redactor(marks={'quo"ted': "[Q]"}, guess=False).hide_text(r'{"a": "quo\"ted"}') == '{"a": "[Q]"}'


def test_values_that_are_too_short_to_be_secrets_stay() -> None:
    redactor = Redactor(["token"], {"yes": "[NO]"}, guess=False)

    assert redactor.hide_text("yes, a token") == "yes, a token"


def test_only_the_guessing_redactor_goes_by_looks_and_telling_names() -> None:
    said = {"password": "x", "note": "Bearer abcdefgh12345678", "n": "api_key=short"}

    assert Redactor(guess=False).hide(said) == said
    assert Redactor().hide(said) == {"password": HIDDEN, "note": HIDDEN, "n": f"api_key={HIDDEN}"}


@pytest.mark.parametrize("cut", range(len(KEY) + 1))
def test_no_cut_leaves_a_part_of_a_value_on_either_side(cut: int) -> None:
    redactor = Redactor(marks={KEY: "[KEY]", "zWq7-other": "[OTHER]"}, guess=False)
    text = f"before {KEY} after"
    middle = text.index(KEY) + cut

    beginning, end = redactor.hide_beginning(text[:middle]), redactor.hide_end(text[middle:])

    assert (beginning, end) == (
        "before [KEY]" if cut == len(KEY) else "before ",
        "[KEY] after" if cut == 0 else " after",
    )


def test_without_anything_to_hide_a_cut_text_stays_as_it_is() -> None:
    redactor = Redactor(guess=False)

    assert (redactor.hide_beginning("abc"), redactor.hide_end("abc")) == ("abc", "abc")


def test_a_fault_is_hidden_in_message_hint_and_details_and_keeps_the_rest() -> None:
    fault = Fault(
        FaultKind.CRASH,
        f"m {KEY}",
        hint=f"h {KEY}",
        details={"a": [KEY]},
        retry_after_seconds=2,
        origin="peer",
        layer="tool",
        outcome="done",
    )
    fault.second = ValueError("later")

    hidden = Redactor(marks={KEY: "[KEY]"}, guess=False).hide_fault(fault)

    assert (hidden.message, hidden.hint, hidden.details) == ("m [KEY]", "h [KEY]", {"a": ["[KEY]"]})
    kept = ("kind", "retry_after_seconds", "origin", "layer", "outcome", "second")
    assert [getattr(hidden, name) for name in kept] == [getattr(fault, name) for name in kept]
