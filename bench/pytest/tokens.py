"""What our answers cost a model, beside the text of plain pytest on the same files."""

import subprocess
import sys
import tempfile
from pathlib import Path

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
ONE_CAUSE = {
    "tests/test_many.py": (
        "import pytest\n\n\n@pytest.mark.parametrize('number', range(200))\ndef test_fetch(number):\n"
        "    found = {'status': 500, 'id': number}\n    assert found['status'] == 200\n"
    )
}
CASES = [
    ("156 passing tests", 200, SUITE, "execute_tests", {}),
    (
        "one passing test",
        120,
        SUITE,
        "execute_tests",
        {"node_ids": ["tests/test_module_03.py::test_something_number_7"]},
    ),
    ("one failing test", 600, TYPICAL, "execute_tests", {}),
    ("200 failures, one cause", 600, ONE_CAUSE, "execute_tests", {}),
    ("discovery of 156 tests", None, SUITE, "discover_tests", {}),
    ("discovery of 156 tests, compact", 2500, SUITE, "discover_tests", {"compact": True}),
]


def measure() -> str:
    rows = []
    for title, budget, files, tool, arguments in CASES:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder) / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            command = [
                sys.executable,
                "-m",
                "faultless",
                "serve",
                "pytest",
                f"--root={folder}",
                f"--python={sys.executable}",
            ]
            with WireClient(command) as client:
                answer = client.open("handshake").call(tool, arguments)["result"]["structuredContent"]
            asked = ["--collect-only", "-q"] if tool == "discover_tests" else arguments.get("node_ids", [])
            plain = subprocess.run(
                [sys.executable, "-m", "pytest", *asked], cwd=folder, capture_output=True, check=False
            )
        row = [title, str(count_tokens(answer)), "-" if budget is None else str(budget)]
        rows.append([*row, str(count_tokens(plain.stdout.decode()))])
    return table("Tokens (o200k) of an answer", ["answer", "tokens", "budget", "text of plain pytest"], rows)


def main() -> None:
    publish("tokens", measure())
