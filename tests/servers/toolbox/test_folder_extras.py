"""Choosing tools, their variables, their progress; resources and prompts; mistakes named where they are made."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from faultless.contract import Fault, FaultKind
from faultless.kit import log
from tests.servers.toolbox.conftest import Serve, in_memory
from tests.waiting import wait_until


def write_tool(folder: Path, name: str, header: str, body: str, first: str = "#!/bin/sh\n") -> None:
    (folder / name).write_text(f"{first}# @tool It\n{header}{body}\n")
    (folder / name).chmod(0o755)


@pytest.mark.anyio
async def test_only_and_group_choose_what_is_offered(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_tool(tmp_path, "git_log", "# @group git\n", "echo 1")
    write_tool(tmp_path, "git_push", "# @group git write\n", "echo 1")
    write_tool(tmp_path, "count", "", "echo 1")
    (tmp_path / "f.py").write_text(
        'def py() -> str:\n    """It.\n\n    @group write\n    """\n    return ""\n'
    )
    (tmp_path / "tools.toml").write_text(
        '[tools.t]\ndescription = "d"\ncommand = ["true"]\ngroup = ["write"]\n'
    )
    for options, names in (
        ({"only": ("count",)}, {"count"}),
        ({"only": ("git_*", "count")}, {"git_log", "git_push", "count"}),
        ({"group": ("git",)}, {"git_log", "git_push"}),
        ({"group": ("write",), "only": ("count",)}, {"git_push", "py", "t", "count"}),
    ):
        async with in_memory(tmp_path, tmp_path, **options) as server:
            assert set(await server.names()) == names
    log.configure()
    async with in_memory(tmp_path, tmp_path, only=("nothing",), group=("nobody",)) as server:
        assert await server.names() == []
        assert (await server.call("count"))["error"]["data"]["kind"] == "unknown_tool"
    logged = capfd.readouterr().err
    assert "--only names no tool" in logged
    assert "--group names no group" in logged


@pytest.mark.anyio
async def test_an_env_file_is_given_to_tools_and_kept_out_of_answers(tmp_path: Path) -> None:
    (tmp_path / "my.env").write_text(
        "# comment\n\nexport A=plain value # why\nB=\"two words\"\nC='sec#ret-value'\nD=\n"
    )
    write_tool(tmp_path, "show", "", 'echo "$A|$B|$C|$D"')
    write_tool(tmp_path, "fail", "", 'echo "$C" >&2; exit 1')
    async with in_memory(tmp_path, tmp_path, env_file="my.env") as server:
        assert await server.say("show") == "plain value|two words|sec#ret-value|"
        answer = json.dumps(await server.call("fail"))
        assert "sec#ret-value" not in answer
        assert "[C]" in answer


@pytest.mark.parametrize(("text", "kind"), [(None, FaultKind.NOT_FOUND), ("A B\n", FaultKind.PARSE_ERROR)])
@pytest.mark.anyio
async def test_an_env_file_that_is_none_is_a_fault_at_the_start(
    tmp_path: Path, text: str | None, kind: FaultKind
) -> None:
    if text is not None:
        (tmp_path / ".env").write_text(text)
    with pytest.raises(Fault) as raised:
        async with in_memory(None, tmp_path, env_file=".env"):
            pass
    assert raised.value.kind is kind


@pytest.mark.parametrize("sandbox", [False, True])
def test_a_script_reports_progress_on_descriptor_3(serve: Serve, tmp_path: Path, sandbox: bool) -> None:
    if sandbox and not any(Path(folder, "bwrap").exists() for folder in os.environ["PATH"].split(":")):
        pytest.skip("needs bubblewrap")
    write_tool(
        tmp_path,
        "slow",
        "# @progress\n",
        'echo "1 3 first part" >&3; echo "2 3" >&3; echo nonsense >&3; echo "2.5" >&3; echo "3/3 done" >&3; echo ok',
    )
    server = serve(tmp_path, tmp_path, *(["--sandbox"] if sandbox else [])).open("handshake")
    call = {"name": "slow", "arguments": {}, "_meta": {"progressToken": "t"}}
    request = server.start("tools/call", call)
    said: list[dict[str, Any]] = []
    while (message := server.receive()).get("id") != request:
        said.append(message["params"])
    assert [(it["progress"], it.get("total"), it.get("message")) for it in said] == [
        (1, 3, "first part"),
        (2, 3, None),
        (2.5, None, None),
        (3, 3, "done"),
    ]
    assert message["result"]["content"][0]["text"] == "ok"
    assert "no progress" in server.stderr()


def test_resources_and_prompts_come_from_the_folder(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "resources" / "deep").mkdir(parents=True)
    (tmp_path / "resources" / "notes.md").write_text("# Notes\n")
    (tmp_path / "resources" / "deep" / "dot.png").write_bytes(b"\x89PNG\xff")
    (tmp_path / "resources" / "out").symlink_to("/etc/passwd")
    (tmp_path / "resources" / ".hidden").write_text("x")
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "review.md").write_text("# Review a file\n\nRead {{ path }} as {{role}}.\n")
    server = serve(tmp_path, tmp_path).open("handshake")
    listed = server.request("resources/list")["result"]["resources"]
    assert [(it["name"], it["mimeType"]) for it in listed] == [
        ("deep/dot.png", "image/png"),
        ("notes.md", "text/markdown"),
    ]
    contents = [
        server.request("resources/read", {"uri": it["uri"]})["result"]["contents"][0] for it in listed
    ]
    assert (contents[0]["blob"], contents[1]["text"]) == ("iVBOR/8=", "# Notes\n")
    assert server.request("resources/read", {"uri": "tools:///resources/out"})["error"]["code"] == -32602
    (prompt,) = server.request("prompts/list")["result"]["prompts"]
    assert (prompt["name"], prompt["description"]) == ("review", "Review a file")
    given = {"name": "review", "arguments": {"path": "a.py", "role": "a friend"}}
    (message,) = server.request("prompts/get", given)["result"]["messages"]
    assert message["content"]["text"] == "# Review a file\n\nRead a.py as a friend.\n"
    assert "a link leads out" in server.stderr()


def test_sighup_reloads_and_sigusr1_does_nothing(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(
        'N = []\n\n\ndef count() -> int:\n    """It."""\n    N.append(1)\n    return len(N)\n'
    )
    server = serve(tmp_path, tmp_path).open("handshake")
    assert [server.call("count")["result"]["structuredContent"]["result"] for _ in range(2)] == [1, 2]
    server.process.send_signal(signal.SIGUSR1)
    assert server.call("count")["result"]["structuredContent"]["result"] == 3
    loads = server.stderr().count("tools loaded")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.stderr().count("tools loaded") > loads)
    assert server.call("count")["result"]["structuredContent"]["result"] == 1


MISTAKES: dict[str, tuple[bytes, str]] = {
    "crlf": (b"#!/bin/sh\r\n# @tool It\r\necho\r\n", "CRLF"),
    "bare": (b"# @tool It\necho\n", "names no interpreter"),
    "bom": (b"\xef\xbb\xbf#!/bin/sh\n# @tool It\necho\n", "byte order mark"),
    "long": (
        b"#!/bin/sh\n# @tool It\n# @param a: string\n" + b"#   more words\n" * 2000,
        "longer than 16384 bytes",
    ),
}


@pytest.mark.anyio
async def test_mistakes_in_a_file_are_named_where_they_are_made(tmp_path: Path) -> None:
    for name, (data, _) in MISTAKES.items():
        (tmp_path / name).write_bytes(data)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    async with in_memory(tmp_path, tmp_path) as server:
        assert await server.names() == []
        for name, (_, reason) in MISTAKES.items():
            assert reason in (await server.call(name))["error"]["message"]
        assert "a link to nowhere" in (await server.call("dangling"))["error"]["message"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("text", "tool", "reason"),
    [
        ('[tool.x]\ndescription = "d"\ncommand = ["true"]\n', "x", "[tool.x] should be [tools.x]"),
        ('[tools.x]\ndescription = "d"\nargv = ["true"]\n', "x", "unknown key 'argv'; write command"),
        ("[other]\na = 1\n", "x", "holds 'other' where only [tools.NAME] tables belong"),
    ],
)
async def test_mistakes_in_tools_toml_are_named(tmp_path: Path, text: str, tool: str, reason: str) -> None:
    (tmp_path / "tools.toml").write_text(text)
    async with in_memory(tmp_path, tmp_path) as server:
        error = (await server.call(tool))["error"]
        assert error["code"] == -32603
        assert reason in error["message"]


@pytest.mark.anyio
async def test_a_program_beside_tools_toml_numbers_as_choices_and_nested_defaults(tmp_path: Path) -> None:
    write_tool(tmp_path, "_prog", "", "cat")
    (tmp_path / "_prog").write_text("#!/bin/sh\necho ran from $0\n")
    (tmp_path / "tools.toml").write_text('[tools.x]\ndescription = "d"\ncommand = ["./_prog"]\n')
    write_tool(tmp_path, "level", "# @param level: 1|2|3\n", 'echo "$ARG_LEVEL"')
    schema = {"type": "object", "properties": {"o": {"type": "object", "properties": {"n": {"default": 5}}}}}
    write_tool(tmp_path, "nested", f"# @schema {json.dumps(schema)}\n", "cat")
    write_tool(tmp_path, "dash", "# @param a: string\n# @argv {a}\n", 'echo "$1"')
    async with in_memory(tmp_path, tmp_path) as server:
        assert await server.say("x") == f"ran from {tmp_path}/_prog"
        assert await server.say("level", {"level": 2}) == "2"
        assert "error" in await server.call("level", {"level": "2"})
        assert json.loads(await server.say("nested", {"o": {}})) == {"o": {"n": 5}}
        assert "means standard input" in (await server.call("dash", {"a": "-"}))["error"]["message"]
