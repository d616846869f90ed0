"""What a person sees of the symbolic server: doctor's lines and answers at a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from faultless.servers.symbolic.doctor import diagnose
from faultless.servers.symbolic.rendering import is_bad_news, render
from faultless.servers.symbolic.worker.faultless_symbolic_worker.protocol import describe_layers

REPRODUCTION = "def test_f():\n    f(7)\n"


def test_doctor_names_the_layers_this_system_gives(tmp_path: Path) -> None:
    (isolation,) = diagnose(tmp_path)
    level, _, layers = isolation.found.rstrip(")").partition(" (")
    held = [] if layers == "no layers" else layers.split(", ")
    assert describe_layers(held)["level"] == level
    assert isolation.ok == (level == "strict")


@pytest.mark.parametrize(
    ("answer", "is_bad"),
    [
        ({"status": "verified", "message": "fine"}, False),
        ({"status": "timeout", "message": "open"}, False),
        (
            {
                "status": "counterexample",
                "message": "f(7)",
                "counterexamples": [{"reproduction": REPRODUCTION}],
            },
            True,
        ),
        (
            {
                "status": "different",
                "message": "f, g",
                "distinguishing_input": {"reproduction": REPRODUCTION},
            },
            True,
        ),
    ],
)
def test_an_answer_is_shown_with_its_reproduction(answer: dict[str, Any], is_bad: bool) -> None:
    assert is_bad_news("symbolic_check", answer) == is_bad
    console = Console(width=80)
    shown = render("symbolic_check", answer)
    assert shown is not None
    with console.capture() as capture:
        console.print(shown)
    assert answer["status"] in capture.get()
    assert ("def test_f" in capture.get()) == is_bad


def test_an_answer_without_a_message_is_left_to_the_command_line() -> None:
    assert render("health_check", {"status": "healthy"}) is None
