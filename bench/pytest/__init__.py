"""The pytest server: truth on public suites, hostile cases, time and tokens, beside its peers."""

import datetime as dt
from pathlib import Path

from bench.figures import machine

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "pytest-figures.md"
HEAD = """# The pytest server in figures

<!-- Written by `python -m bench pytest`; run that, do not edit this. -->

{machine}, {date}.

"""


def main() -> None:
    from bench.pytest import costs, hostile, tokens, truth  # noqa: PLC0415 - each builds its environments when asked

    parts = []
    for part in (truth, tokens, hostile, costs):
        table = part.measure()
        print(table)
        parts.append(table)
    date = dt.datetime.now(tz=dt.UTC).date().isoformat()
    PAGE.write_text(HEAD.format(machine=machine("faultless", "mcp", "pytest"), date=date) + "\n".join(parts))
