"""A server of one's own: a file that ends with `serve`, what is wrong with a file, and a new project."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from faultless import Fault
from faultless.cli import run
from faultless.cli.lookup import load
from faultless.testing import WireClient
from tests.cli.command import DEADLINE_SECONDS, HERE, environment

README = HERE.parents[1] / "README.md"


def example() -> str:
    """The README's, which ends with a `serve` that nothing guards."""
    (found,) = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    assert found.endswith("\nserve(toolset)\n")
    return str(found)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "shop.py"
    path.write_text(example())
    return path


def test_the_readmes_example_is_called_as_a_file(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shop.parent)
    assert run(["call", "shop.py:toolset", "find_price", "article=A-17", "--raw"]) == 0
    assert json.loads(capfd.readouterr().out)["result"]["structuredContent"] == {"result": 1999}


def test_the_readmes_example_serves_when_it_is_run(shop: Path) -> None:
    with WireClient([sys.executable, str(shop)]) as client:
        answer = client.open("handshake").call("find_price", {"article": "B"})
    fault = json.loads(answer["result"]["content"][0]["text"])
    assert (fault["error"], fault["hint"]) == ("not_found", "list the articles first")


def test_a_module_that_serves_at_its_end_is_imported_all_the_same(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(shop.parent)
    assert load("shop:toolset").name == "shop"


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("", "there is no 'nope' in server.py; it defines no Toolset", "define toolset = "),
        (
            "from faultless import Toolset\ntools = Toolset('a', '1')\n",
            "it has tools",
            "write server.py:tools",
        ),
        (
            "from faultless import Toolset\ntools = Toolset('a', '1')\n@tools.tool.reads\ndef x(): pass\n",
            "x (server.py:3) cannot be a tool: it has no docstring",
            "correct it there",
        ),
        (
            "import sys\nsys.exit(0)\n",
            "cannot be imported: SystemExit at server.py:2: 0",
            "under if __name__",
        ),
        (
            "import re\nre.compile('(')\n",
            "cannot be imported: error at server.py:2: missing )",
            "correct the module",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_plain_words(
    text: str, says: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("server.py").write_text(text)
    with pytest.raises(Fault) as raised:
        load("server.py:nope")
    assert says in raised.value.message
    assert hint in str(raised.value.hint)


def test_a_new_project_has_tests_that_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new", "server", "my-notes"]) == 0
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path / "my-notes",
        env=environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout
    assert "3 passed" in tested.stdout


@pytest.mark.parametrize("name", ["json", "1st", "class", "../up", "größe", "a b"])
def test_a_new_project_is_not_named_like_what_it_cannot_be(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new", "server", name]) == 2
    assert "cannot be the name of a module of your own" in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_new_project_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shop").mkdir()
    assert run(["new", "server", "shop"]) == 2
    assert "shop exists already" in capfd.readouterr().err
