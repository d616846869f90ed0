"""A folder that is edited while it is served."""

from pathlib import Path

import pytest

from faultless.testing import ERAS, Era
from tests.servers.toolbox.conftest import Serve, in_memory

SCRIPT = "#!/bin/sh\n# @tool Say {word}\necho {word}\n"
FUNCTION = 'def speak() -> str:\n    """Say {word}."""\n    return "{word}"\n'


def write_script(folder: Path, name: str, word: str) -> None:
    path = folder / name
    path.write_text(SCRIPT.format(word=word))
    path.chmod(0o755)


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_the_next_call_uses_what_was_edited(tmp_path: Path, era: Era) -> None:
    write_script(tmp_path, "say", "one")
    (tmp_path / "spoken.py").write_text(FUNCTION.format(word="one"))
    async with in_memory(tmp_path, tmp_path, era) as server:
        assert (await server.say("say"), await server.say("speak")) == ("one", "one")
        write_script(tmp_path, "say", "another")
        (tmp_path / "spoken.py").write_text(FUNCTION.format(word="another"))
        assert (await server.say("say"), await server.say("speak")) == ("another", "another")


def test_only_a_change_of_the_list_is_announced(serve: Serve, tmp_path: Path) -> None:
    write_script(tmp_path, "say", "one")
    server = serve(tmp_path, tmp_path).open("handshake")
    assert [tool["name"] for tool in server.request("tools/list")["result"]["tools"]] == ["say"]
    (tmp_path / "say").write_text("#!/bin/sh\n# @tool Say one\necho else\n")
    edited = server.start("tools/call", {"name": "say", "arguments": {}})
    answer = server.receive()
    assert (answer["id"], answer["result"]["content"][0]["text"]) == (edited, "else")
    write_script(tmp_path, "tell", "two")
    assert server.receive() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    follow_up = server.start("tools/list")
    answer = server.receive()
    assert answer["id"] == follow_up
    assert [tool["name"] for tool in answer["result"]["tools"]] == ["say", "tell"]
    (tmp_path / "say").unlink()
    assert server.receive()["method"] == "notifications/tools/list_changed"
    assert server.call("say")["error"]["message"].startswith("Unknown tool: 'say'. Hint: ")


def test_a_client_of_the_modern_era_hears_it_when_it_listens(serve: Serve, tmp_path: Path) -> None:
    write_script(tmp_path, "say", "one")
    server = serve(tmp_path, tmp_path).open("modern")
    assert server.request("server/discover")["result"]["capabilities"]["tools"] == {"listChanged": True}
    server.request("tools/list")
    listening = server.start("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    assert server.receive()["method"] == "notifications/subscriptions/acknowledged"
    write_script(tmp_path, "tell", "two")
    assert server.receive()["method"] == "notifications/tools/list_changed"
    server.close_input()
    assert server.receive()["id"] == listening
    assert server.wait() == 0


@pytest.mark.anyio
async def test_files_that_tools_write_beside_themselves_are_no_change(tmp_path: Path) -> None:
    (tmp_path / "pid.py").write_text(
        'import os\n\n\ndef pid() -> int:\n    """Whose this is."""\n    return os.getpid()\n'
    )
    async with in_memory(tmp_path, tmp_path) as server:
        first = await server.say("pid")
        (tmp_path / "output.txt").write_text("data")
        (tmp_path / "output.json").write_text("{}")
        assert await server.say("pid") == first


COUNTER = (
    'N = []\n\n\ndef count_{name}() -> int:\n    """Count calls."""\n    N.append(1)\n    return len(N)\n'
)


@pytest.mark.anyio
async def test_an_edit_restarts_only_the_workers_that_imported_the_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text(COUNTER.format(name=name))
    (tmp_path / "_shared.py").write_text("WORD = 'one'\n")
    (tmp_path / "c.py").write_text(
        'def shared() -> str:\n    """Say it."""\n    import _shared\n    return _shared.WORD\n'
    )
    async with in_memory(tmp_path, tmp_path) as server:
        counts = [await server.say("count_a") for _ in range(2)] + [await server.say("count_b")]
        assert counts == ['{"result":1}', '{"result":2}', '{"result":1}']
        assert await server.say("shared") == "one"
        write_script(tmp_path, "say", "one")
        assert (await server.say("say"), await server.say("count_a")) == ("one", '{"result":3}')
        (tmp_path / "b.py").write_text(COUNTER.format(name="b") + "\n")
        assert (await server.say("count_b"), await server.say("count_a")) == ('{"result":1}', '{"result":4}')
        (tmp_path / "_shared.py").write_text("WORD = 'another'\n")
        assert (await server.say("shared"), await server.say("count_a")) == ("another", '{"result":5}')
