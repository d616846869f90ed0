"""State over the wire: made before the first call, closed when the server is stopped."""

import signal
import sys
from pathlib import Path

from faultless.testing import WireClient

SERVER = """
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from faultless import Toolset, serve

toolset = Toolset("state", version="1")
diary = Path(sys.argv[1])

class First: pass
class Second: pass

def note(line):
    with diary.open("a") as file:
        file.write(line + " ")

@toolset.lifespan
def make_first() -> Iterator[First]:
    note("first")
    yield First()
    note("closed-first")

@toolset.lifespan
async def make_second() -> AsyncIterator[Second]:
    note("second")
    try:
        yield Second()
    finally:
        note("closed-second")
        raise RuntimeError("cannot be closed")

@toolset.tool.reads
def look(first: First, second: Second) -> str:
    '''Look at both.'''
    return type(first).__name__ + type(second).__name__

def main():
    serve(toolset)

main()
"""


def test_what_was_made_is_closed_in_turn_even_if_one_fails(tmp_path: Path) -> None:
    script, diary = tmp_path / "state.py", tmp_path / "diary"
    script.write_text(SERVER)
    with WireClient([sys.executable, str(script), str(diary)]) as client:
        answer = client.open("handshake").call("look")
        assert answer["result"]["content"] == [{"type": "text", "text": "FirstSecond"}]
        client.process.send_signal(signal.SIGTERM)
        assert client.wait() == 0
        assert "cannot be closed" in client.stderr()
    assert diary.read_text().split() == ["first", "second", "closed-second", "closed-first"]
