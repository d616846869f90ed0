"""`faultless toolbox check` and `new`, and the folder that is chosen."""

from pathlib import Path

import pytest

from faultless.cli import BAD_NEWS, FAULT, VERDICT, run
from faultless.contract import Fault
from faultless.servers.toolbox.folder import find_folder
from tests.servers.toolbox.conftest import in_memory

EXAMPLES = Path(__file__).parents[3] / "examples" / "tools"


def test_check_prints_what_is_exposed_and_why_the_rest_is_not(
    specimen_folder: Path, workplace: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["toolbox", "check", str(specimen_folder), "--root", str(workplace)]) == BAD_NEWS
    printed = capfd.readouterr().out
    assert "  typed(path, limit=10, mode='fast', tags=[], note?, ratio=0.5)" in printed
    assert "  bad_type  (bad_type:3): unknown type 'imt', did you mean 'int'?" in printed
    assert "  bash_missing  (tools.json): tools.bash defines no function tool_bash_missing" in printed
    assert "  no_interpreter  (no_interpreter): its interpreter /does/not/exist is not there" in printed
    assert "  toml_no_program  (tools.toml): there is no program no-such-program-anywhere" in printed


def test_check_has_nothing_to_say_against_the_examples(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["toolbox", "check", str(EXAMPLES)]) == VERDICT
    printed = capfd.readouterr().out
    assert "9 tools" in printed
    assert "left out" not in printed


def test_check_remarks_on_what_will_surprise(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tools.json").write_text('{"tools": [{"name": "clear", "inputSchema": {"type": "object"}}]}')
    (tmp_path / "tools.bash").write_text(
        "tool_clear() {\n  local own=1\n  rm -rf ${CACHE_DIR}/*\n  echo $own ${SPARE:-none}\n}\n"
    )
    (tmp_path / "silent").write_text("#!/bin/sh\necho nobody says what this does\n")
    (tmp_path / "silent").chmod(0o755)
    run(["toolbox", "check", str(tmp_path)])
    printed = capfd.readouterr().out
    assert "$CACHE_DIR  (tools.bash:3): tools will not get it: add the line # @env CACHE_DIR" in printed
    assert "$own" not in printed
    assert "$SPARE" not in printed
    assert "silent  (silent): " in printed
    assert "`# @tool What it does`" in printed


def test_check_of_a_folder_that_is_not_there_is_a_fault(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["toolbox", "check", "no-such-folder"]) == FAULT
    assert "there is no folder no-such-folder" in capfd.readouterr().err


@pytest.mark.anyio
async def test_what_new_writes_works_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for language in ("sh", "python", "node"):
        assert run(["toolbox", "new", f"greet_{language}", "--lang", language]) == VERDICT
    async with in_memory(None, tmp_path) as server:
        arguments = {"who": "World", "times": 2}
        assert await server.say("greet_sh", arguments) == "Hello, World!\nHello, World!"
        answer = await server.call("greet_python", arguments)
        assert answer["result"]["structuredContent"] == {"result": ["Hello, World!", "Hello, World!"]}
        answer = await server.call("greet_node", arguments)
        assert answer["result"]["structuredContent"] == {"greetings": ["Hello, World!", "Hello, World!"]}


def test_new_overwrites_nothing_and_takes_only_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["toolbox", "new", "hello"]) == VERDICT
    written = (tmp_path / "tools" / "hello").read_text()
    assert run(["toolbox", "new", "hello"]) == FAULT
    assert run(["toolbox", "new", "../outside"]) == FAULT
    assert run(["toolbox", "new", "with-dash", "--lang", "python"]) == FAULT
    assert (tmp_path / "tools" / "hello").read_text() == written
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["hello"]


def test_the_folder_is_the_one_named_then_mcboxs_variable_then_the_roots(tmp_path: Path) -> None:
    for name in ("named", "variable", "tools", "home/.config/mcbox"):
        (tmp_path / name).mkdir(parents=True)
    environment = {"MCBOX_CONFIG_HOME": str(tmp_path / "variable"), "HOME": str(tmp_path / "home")}
    assert find_folder(tmp_path, "named", environment).name == "named"
    assert find_folder(tmp_path, None, environment).name == "variable"
    del environment["MCBOX_CONFIG_HOME"]
    assert find_folder(tmp_path, None, environment).name == "tools"
    (tmp_path / "tools").rmdir()
    assert find_folder(tmp_path, None, environment).name == "mcbox"
    (tmp_path / "home/.config/mcbox").rmdir()
    assert find_folder(tmp_path, None, environment) == tmp_path / "tools"
    with pytest.raises(Fault, match="there is no folder nowhere"):
        find_folder(tmp_path, "nowhere", environment)


@pytest.mark.anyio
async def test_a_folder_that_comes_later_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    async with in_memory(None, tmp_path) as server:
        assert await server.names() == []
        assert run(["toolbox", "new", "hello"]) == VERDICT
        assert await server.names() == ["hello"]
