"""The pytest server: truth on public suites, hostile cases, time and tokens, beside its peers.

`python -m bench pytest` measures all parts, `python -m bench pytest.truth` one; the page is put together anew
from the last run of each.
"""

import datetime as dt
import importlib
from pathlib import Path

from bench.figures import machine
from bench.peers import PEERS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "pytest-figures.md"
PARTS = ["truth", "hostile", "costs", "tokens"]
KEPT = PEERS / "pytest-figures"
HEAD = """# The pytest server in figures

<!-- Written by `python -m bench pytest`; run that, do not edit this. -->

{machine}, {date}.

"""


def main() -> None:
    for part in PARTS:
        importlib.import_module(f"bench.pytest.{part}").main()


def publish(part: str, text: str) -> None:
    print(text)
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{part}.md").write_text(text)
    found = [kept.read_text() for name in PARTS if (kept := KEPT / f"{name}.md").exists()]
    date = dt.datetime.now(tz=dt.UTC).date().isoformat()
    PAGE.write_text(HEAD.format(machine=machine("faultless", "mcp", "pytest"), date=date) + "\n".join(found))
