"""The other commands: serve, tools, config, doctor, help; and what goes wrong before a server starts."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from faultless import servers
from faultless.cli import run
from faultless.testing import WireClient
from tests.cli.command import COMMAND, DEADLINE_SECONDS, HERE, SERVER, environment, faultless


def test_tools_lists_names_parameters_and_marks() -> None:
    finished = faultless("tools", SERVER)
    assert finished.returncode == 0
    assert (
        "add_up  read-only, idempotent\n  Say back what was received.\n    count*   integer"
        in finished.stdout
    )
    assert "list of string   Who took part." in finished.stdout


def test_tools_raw_is_the_list_as_json() -> None:
    listed = json.loads(faultless("tools", SERVER, "--raw").stdout)
    assert listed[0]["name"] == "add_up"
    assert listed[0]["inputSchema"]["required"] == ["count"]


@pytest.mark.parametrize(
    ("client", "key"),
    [
        ("claude-code", "mcpServers"),
        ("claude-desktop", "mcpServers"),
        ("vscode", "servers"),
        ("cursor", "mcpServers"),
    ],
)
def test_config_prints_json_for_the_client_and_says_where_it_goes(
    client: str, key: str, tmp_path: Path
) -> None:
    finished = faultless("config", client, SERVER, "--root", str(tmp_path), "--engine", "a b")
    lines = finished.stdout.splitlines()
    comments = [line for line in lines if line.strip().startswith("//")]
    entry = json.loads("".join(line for line in lines if line not in comments))[key]["fixture-server"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-4:] == ["--root", str(tmp_path.resolve()), "--engine", "a b"]
    assert "json" in finished.stderr
    assert entry["args"][-6:-4] == ["--faults", "result"]
    assert "only the message of a JSON-RPC error" in (
        "".join(comments) if client == "vscode" else finished.stderr
    )
    assert ("claude mcp add --transport stdio fixture-server -- " in finished.stderr) == (
        client == "claude-code"
    )


def test_config_names_files_so_that_they_are_found_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    finished = faultless("config", "cursor", "obsidian", "--vault", "notes", cwd=tmp_path)
    entry = json.loads(finished.stdout)["mcpServers"]["obsidian"]
    assert entry["args"][-2:] == ["--vault", str(tmp_path / "notes")]
    finished = faultless("config", "cursor", "toolbox", "my-tools", cwd=tmp_path)
    entry = json.loads(finished.stdout)["mcpServers"]["toolbox"]
    assert entry["args"][4:7] == ["toolbox", "my-tools", "--faults"]


def test_config_leaves_the_shape_of_faults_to_whoever_names_it() -> None:
    finished = faultless("config", "vscode", SERVER, "--faults", "native")
    [entry] = json.loads(finished.stdout)["servers"].values()
    assert entry["args"].count("--faults") == 1
    assert entry["args"][entry["args"].index("--faults") + 1] == "native"


def test_what_config_prints_has_faults_answered_as_results(tmp_path: Path) -> None:
    finished = faultless("config", "claude-code", SERVER)
    [entry] = json.loads(finished.stdout)["mcpServers"].values()
    with WireClient([entry["command"], *entry["args"]], cwd=tmp_path) as client:
        answer = client.open("handshake").call("judge_work", {"good": 5})
    assert answer["result"]["isError"] is True


@pytest.mark.parametrize("name", ["fixture_server.py:server", "fixture_server:toolset"])
def test_what_config_prints_starts_the_server_from_any_folder(name: str, tmp_path: Path) -> None:
    finished = faultless("config", "cursor", name, cwd=HERE)
    [entry] = json.loads(finished.stdout)["mcpServers"].values()
    command = [entry["command"], *entry["args"]]
    with WireClient(command, cwd=tmp_path, env=environment(entry.get("env"))) as client:
        answer = client.open("handshake").call("judge_work", {"good": True})
    assert answer["result"]["structuredContent"]["good"] is True


def test_doctor_is_content_when_everything_needed_is_there(tmp_path: Path) -> None:
    (tmp_path / "engine").touch()
    finished = faultless("doctor", SERVER, "--root", str(tmp_path), env={"PATH": "/nowhere"})
    assert finished.returncode == 0, finished.stdout
    assert "  ok      engine: looked in the root" in finished.stdout
    assert "  absent  git: not on PATH\n          fix: " in finished.stdout
    assert " tools in " in finished.stdout


def test_doctor_names_what_is_missing_and_the_fix_and_exits_1(tmp_path: Path) -> None:
    finished = faultless("doctor", SERVER, "--root", str(tmp_path))
    assert finished.returncode == 1
    assert "  MISSING engine: looked in the root\n          fix: touch engine" in finished.stdout


def test_doctor_sees_a_server_that_does_not_answer(tmp_path: Path) -> None:
    (tmp_path / "dies.py").write_text(
        "import os\nfrom tests.cli.fixture_server import server as real\n"
        "from dataclasses import replace\nserver = replace(real, build_toolset=lambda *_: os._exit(3), diagnose=lambda _: [])\n"
    )
    path = {"PYTHONPATH": str(HERE.parent.parent)}
    finished = faultless("doctor", f"{tmp_path / 'dies.py'}:server", env=path)
    assert finished.returncode == 1
    assert "MISSING answers: the server was gone: exited with status 3" in finished.stdout


def test_version_and_help_are_worth_reading() -> None:
    assert faultless("--version").stdout.startswith("faultless ")
    for words in [(), ("serve",), ("call",), ("tools",), ("config",), ("doctor",)]:
        text = faultless(*words, "--help").stdout
        assert text.startswith("Usage: faultless")
        assert "  faultless " in text.partition("\n")[2], f"no example in {words}"


def test_help_of_a_server_shows_its_own_options() -> None:
    text = faultless("serve", SERVER, "--help").stdout
    assert "A server for tests." in text
    assert "--engine" in text
    assert "--max-frame-bytes" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["serve", "nope"], "no server is called 'nope'"),
        (["serve", "nomodule:x"], "No module named 'nomodule'"),
        (["serve", f"{HERE}/nofile.py:x"], "there is no file"),
        (["serve", f"{HERE}/fixture_server.py:not_a_server"], "is a int, not a Toolset"),
        (["serve", f"{HERE}/fixture_server.py:missing.deeper"], "there is no 'missing.deeper' in"),
        (["serve", SERVER, "--root", "/no/where"], "is not there"),
        (["serve", SERVER, "--no-such-option"], "No such option"),
        (["call", SERVER], "Missing argument 'TOOL'"),
        (["call"], "Usage: "),
        (["frobnicate"], "No such command"),
        (["config", "emacs", SERVER], "No such command 'emacs'"),
    ],
)
def test_what_cannot_start_says_why_and_exits_2(words: list[str], says: str) -> None:
    finished = faultless(*words)
    assert finished.returncode == 2
    assert says in finished.stdout + finished.stderr


def test_a_strangers_module_that_breaks_on_import_gets_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "zero.py").write_text("1 / 0\n")
    (tmp_path / "syntax.py").write_text("def\n")
    zero = faultless("serve", f"{tmp_path}/zero.py:x")
    assert zero.returncode == 2
    assert "ZeroDivisionError at zero.py:1: division by zero" in zero.stderr
    syntax = faultless("serve", f"{tmp_path}/syntax.py:x")
    assert "fault: parse_error" in syntax.stderr


def test_a_missing_extra_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lacking = replace(servers.SERVERS["obsidian"], needs=("ruamel.yaml", "no_such_module"))
    monkeypatch.setitem(servers.SERVERS, "obsidian", lacking)
    assert run(["serve", "obsidian"]) == 2
    said = capfd.readouterr().err
    assert "no_such_module" in said
    assert "ruamel" not in said
    assert "pip install 'faultless[obsidian]'" in said


def test_a_misspelt_server_is_recognised(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "obsidan"]) == 2
    assert "did you mean obsidian?" in capfd.readouterr().err


def test_a_module_in_the_current_folder_does_not_shadow_ours(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise SystemExit('shadowed')\n")
    (tmp_path / "mine.py").write_text(
        "from faultless.contract import Dialect\nfrom faultless.kit.toolset import Toolset\n"
        "toolset = Toolset('mine', version='1', dialect=Dialect.JSONRPC)\n"
    )
    finished = faultless("tools", "mine:toolset", "--raw", cwd=tmp_path)
    assert (finished.returncode, json.loads(finished.stdout)) == (0, [])


def test_a_reader_that_leaves_early_is_not_an_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    finished = subprocess.run(
        [*COMMAND, "tools", SERVER],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    os.close(writer)
    assert finished.stderr == b""


def test_serve_starts_without_what_it_does_not_need() -> None:
    code = (
        "import sys, faultless.cli.serve\n"
        "slow = {'mcp', 'rich', 'pydantic', 'anyio', 'asyncio', 'faultless.kit.toolset'} & set(sys.modules)\n"
        "assert not slow, slow"
    )
    subprocess.run([sys.executable, "-c", code], timeout=DEADLINE_SECONDS, check=True)


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_serve_answers_on_stdout_and_ends_with_its_input(era: str) -> None:
    with WireClient([*COMMAND, "serve", SERVER, "--faults", "result"]) as client:
        client.open("modern" if era == "modern" else "handshake")
        answer = client.call("break_down", {"how": "x"})
        assert answer["result"]["isError"] is True
        client.close_input()
        assert client.wait() == 0
