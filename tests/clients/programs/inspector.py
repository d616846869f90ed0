"""Inspector on the command line: the text of the result it prints, or its last words."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.clients.programs.plan import Record, Shown, play_plan

HOW = {0: "answer", 5: "error"}


async def play(command: list[str], record: Record) -> None:
    config = Path(sys.argv[2]).with_name("inspector.json")
    server = {"type": "stdio", "command": command[0], "args": command[1:]}
    config.write_text(json.dumps({"mcpServers": {"ours": server}}))

    async def show(tool: str, arguments: dict[str, Any]) -> Shown:
        pairs = [
            f"{name}={value if isinstance(value, str) else json.dumps(value)}"
            for name, value in arguments.items()
        ]
        call = ["--method", "tools/call", "--tool-name", tool]
        call += [part for pair in pairs for part in ("--tool-arg", pair)]
        done = subprocess.run(  # noqa: ASYNC221 - nothing else runs meanwhile
            [sys.argv[3], "--cli", "--config", str(config), "--server", "ours", *call],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if done.returncode not in HOW:
            return ("raised", done.stderr.strip().rpartition("\n")[2])
        content = json.loads(done.stdout)["content"]
        return (HOW[done.returncode], "\n".join(block["text"] for block in content))

    await record(show)


play_plan(play)
