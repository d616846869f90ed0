"""A server with one tool for every way a peer can misbehave."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent.parent
START = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.client.hostile.{{}} import main; main()"


def command(era: str = "both", **options: object) -> list[str]:
    return [
        *(sys.executable, "-S", "-E", "-c", START.format("serve")),
        f"era={era}",
        *(f"{name}={value}" for name, value in options.items()),
    ]


def web_command() -> list[str]:
    """Prints its URL, then serves it."""
    return [sys.executable, "-S", "-E", "-c", START.format("web")]
