"""Reading a counterexample out of what CrossHair prints."""

import ast
import re

_CALLING = " when calling "
_GIVEN = "Given: ("
_MEMBER = re.compile(r"<(\w+\.\w+): [^<>]*>")
"""How an enum's member is printed: `<Suit.HEARTS: 1>`."""


def call_in(output: str) -> str | None:
    """From `… error: false when calling f(1, y=2) (which returns 3)`: `1, y=2`."""
    line = next((line for line in output.splitlines() if " error: " in line and _CALLING in line), "")
    return _arguments(line.rpartition(_CALLING)[2])


def given_in(output: str) -> str | None:
    """From `Given: (x=1, y=2),`: `x=1, y=2`."""
    line = next((line for line in output.splitlines() if line.startswith(_GIVEN)), "")
    return _arguments(f"given({line.removeprefix(_GIVEN)}")


def _arguments(text: str) -> str | None:
    """The text between the brackets of the first whole call."""
    text = _MEMBER.sub(r"\1", text)
    for end in (index for index, letter in enumerate(text) if letter == ")"):
        try:
            call = ast.parse(text[: end + 1], mode="eval").body
        except (SyntaxError, ValueError):
            continue
        if isinstance(call, ast.Call):
            return text[text.index("(") + 1 : end]
    return None
