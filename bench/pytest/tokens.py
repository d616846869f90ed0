"""What our answers cost a model, beside the text of plain pytest on the same files."""

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.figures import table
from bench.pytest import publish
from bench.tokens import count_tokens
from faultless.testing import WireClient

SUITE = {
    f"tests/test_module_{number:02}.py": "".join(
        f"def test_something_number_{test}():\n    pass\n\n\n" for test in range(12)
    )
    for number in range(13)
}
TYPICAL = {
    "tests/test_user.py": (
        "def log_in(name, password):\n    return {'status_code': 500, 'name': name}\n\n\n"
        "def test_login_failure():\n    response = log_in('ada', 'wrong')\n    print('asked for ada')\n"
        "    assert response['status_code'] == 401, 'a wrong password must be refused'\n"
    )
}
FOUR = {
    "tests/test_order.py": """import pytest


def parse(text):
    name, age = text.split(",")
    return {"name": name, "age": int(age), "tags": []}


def total(prices, discount=0):
    return sum(prices) - discount


def test_parse_keeps_tags():
    assert parse("ada,36") == {"name": "ada", "age": 36, "tags": ["math"]}


def test_parse_refuses_words():
    parse("ada,old")


def test_total_takes_the_discount_off():
    print("adding up")
    assert total([10, 10], discount=2) == 20, "a discount must not count"


def test_negative_prices_are_refused():
    with pytest.raises(ValueError):
        total([-1])
"""
}
ONE_CAUSE = {
    "tests/test_many.py": (
        "import pytest\n\n\n@pytest.mark.parametrize('number', range(200))\ndef test_fetch(number):\n"
        "    found = {'status': 500, 'id': number}\n    assert found['status'] == 200\n"
    )
}
LOGIN = {"tests/test_user.py": "def test_login():\n    pass\n\n\ndef test_logout():\n    pass\n"}
BROKEN = {"tests/test_user.py": "import pytest\nimport payments_client\n\n\ndef test_login():\n    pass\n"}
SHORT = ["-q", "--no-header", "--tb=short"]


@dataclass(frozen=True)
class Case:
    title: str
    files: Mapping[str, str]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    tool: str = "execute_tests"
    budget: int | None = None
    message_budget: int | None = None
    """Of a fault: most clients show its message alone."""
    ratio: float | None = None
    """At most so many times the short form of plain pytest."""

    @property
    def words(self) -> Sequence[str]:
        """The same selection on pytest's own command line."""
        if self.tool == "discover_tests":
            return ["--collect-only"]
        keywords = self.arguments.get("keywords")
        return [*self.arguments.get("node_ids", []), *([f"-k{keywords}"] if keywords else [])]


CASES = [
    Case("156 passing tests", SUITE, budget=60),
    Case(
        "one passing test",
        SUITE,
        {"node_ids": ["tests/test_module_03.py::test_something_number_7"]},
        budget=60,
    ),
    Case("nothing selected", LOGIN, {"keywords": "nothing"}, budget=60),
    Case("one failing test", TYPICAL, budget=160),
    Case("four different failing tests", FOUR, ratio=1.05),
    Case("200 failures, one cause", ONE_CAUSE, budget=160),
    Case(
        "fault: misspelt id",
        LOGIN,
        {"node_ids": ["tests/test_user.py::test_logn"]},
        budget=140,
        message_budget=60,
    ),
    Case("fault: import error", BROKEN, budget=200, message_budget=90),
    Case("discovery of 156 tests", SUITE, tool="discover_tests"),
    Case("discovery of 156 tests, compact", SUITE, {"compact": True}, "discover_tests", budget=2500),
]


def write(case: Case, root: Path) -> None:
    """The project, with an environment in its usual place."""
    for name, text in case.files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / ".venv").symlink_to(sys.prefix)


def count_plain(case: Case, root: Path, *options: str) -> int:
    """All that pytest itself prints."""
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *case.words], cwd=root, capture_output=True, check=False
    )
    return count_tokens((finished.stdout + finished.stderr).decode())


def measure() -> str:
    rows = []
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            write(case, Path(folder))
            command = [sys.executable, "-m", "faultless", "serve", "pytest", f"--root={folder}"]
            with WireClient(command) as client:
                response = client.open("handshake").call(case.tool, dict(case.arguments))
            plain, short = count_plain(case, Path(folder)), count_plain(case, Path(folder), *SHORT)
        fault = response.get("error")
        tokens = count_tokens(fault or response["result"]["structuredContent"])
        most = f"{case.ratio} x short" if case.ratio else str(case.budget or "-")
        message = f"{count_tokens(fault['message'])} (at most {case.message_budget})" if fault else "-"
        rows.append([case.title, str(tokens), most, message, str(plain), str(short), f"{tokens / short:.2f}"])
    header = ["answer", "tokens", "at most", "its message alone", "plain pytest", "short", "tokens / short"]
    note = f"Faults are counted whole, code and data too. Short: `pytest {' '.join(SHORT)}`."
    return table("Tokens (o200k) of an answer", header, rows) + f"\n{note}\n"


def main() -> None:
    publish("tokens", measure())
