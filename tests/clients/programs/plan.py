"""The frame of every Python program here: read the plan, play each server's calls, write down what was shown."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

Shown = tuple[str, str]
"""How it arrived (`answer`, `error`, `raised`), and the text."""
Show = Callable[[str, dict[str, Any]], Awaitable[Shown]]
Play = Callable[[list[str], "Record"], Awaitable[None]]
Record = Callable[[Show], Awaitable[None]]


def play_plan(play: Play) -> None:
    servers = json.loads(Path(sys.argv[1]).read_text())
    shown: dict[str, Shown] = {}

    async def play_all() -> None:
        for server in servers:

            async def record(show: Show, calls: list[dict[str, Any]] = server["calls"]) -> None:
                for call in calls:
                    try:
                        shown[call["case"]] = await show(call["tool"], call["arguments"])
                    except Exception as error:  # noqa: BLE001 - whatever a client raises is what its user gets
                        shown[call["case"]] = ("raised", str(error))

            await play(server["command"], record)

    asyncio.run(play_all())
    Path(sys.argv[2]).write_text(json.dumps(shown))
