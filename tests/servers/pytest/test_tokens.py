"""What an answer costs the model, in tokens of a real tokenizer; the client passes on structuredContent."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.pytest.tokens import CASES, SHORT, Case, count_plain
from bench.tokens import count_tokens
from tests.servers.pytest.conftest import Answer, Server

Serve = Callable[..., Server]


def ask(serve: Serve, case: Case, root: Path) -> Answer:
    server = serve(case.files, python=None)
    (root / ".venv").symlink_to(sys.prefix)
    response = server.call(case.tool, case.arguments)
    answer: Answer = response["error"] if "error" in response else response["result"]["structuredContent"]
    return answer


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_an_answer_stays_within_its_budget(serve: Serve, case: Case, tmp_path: Path) -> None:
    root = tmp_path / "project"
    answer = ask(serve, case, root)
    assert ("message" in answer) is case.title.startswith("fault: ")
    if case.budget is not None:
        assert count_tokens(answer) <= case.budget
    if case.message_budget is not None:
        assert count_tokens(answer["message"]) <= case.message_budget
    if case.ratio is not None:
        assert count_tokens(answer) <= case.ratio * count_plain(case, root, *SHORT)
