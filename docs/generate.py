"""Write the reference pages from the tables in the code; `--check` only says whether they are fresh."""
# ruff: noqa: INP001 - a script among the pages it writes, run as `python -m docs.generate`

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docs.rooms import draw_call, draw_rooms
from faultless.contract import FACTS, Dialect, FaultKind
from faultless.contract.dialects import MODULE_NAME, NAMES, OUTPUT, choose_split_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

FOLDER = Path(__file__).parent

FAULTS_INTRODUCTION = """\
# Faults

<!-- Written by `make docs` from the tables in src/faultless/contract; edit those. -->

A fault says that a tool could not do its job. It has one kind from this closed list, a message, a hint (the
next move), details, and `retry_after_seconds`.

## Kinds
"""

DIALECTS_INTRODUCTION = f"""
## Names on the wire

A toolset declares its dialect; each dialect also carries `kind`, `hint` and `retry_after_seconds`, so that
reading gives back exactly the fault that was written.

- `jsonrpc`: a JSON-RPC error; the name stands in `data.error_type`, the details directly in `data`.
- `status`: a result with `status: "error"`; the name stands in `error_type`. A module that will not load is
  `{MODULE_NAME}`.
- `error_key`: a result; the name stands in `error`.
- `split`: a JSON-RPC error, or, where the tool ran and failed, a result with its `{OUTPUT}` and the
  `fault` beside it.

An unknown tool is a JSON-RPC error in every dialect.
"""


def render_faults() -> str:
    kinds = ([_code(kind), facts.when, str(facts.code), facts.retry] for kind, facts in FACTS.items())
    names = (
        [_code(kind), *(_code(NAMES[dialect][kind]) for dialect in Dialect), str(choose_split_code(kind))]
        for kind in FaultKind
    )
    return "\n".join(
        [
            FAULTS_INTRODUCTION,
            *_table(["kind", "when", "JSON-RPC code", "retry"], kinds),
            DIALECTS_INTRODUCTION,
            *_table(["kind", *(_code(dialect) for dialect in Dialect), "code in `split`"], names),
            "",
        ]
    )


def _code(name: str | None) -> str:
    return f"`{name}`" if name else "-"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)]


def render_architecture() -> str:
    """The page as it stands, with its pictures drawn anew."""
    page = (FOLDER / "architecture.md").read_text(encoding="utf-8")
    for name, picture in (("rooms", draw_rooms()), ("call", draw_call())):
        pattern = rf"(<!-- {name}: [^\n]* -->\n).*?(<!-- /{name} -->)"
        page = re.sub(
            pattern, lambda found, drawn=picture: f"{found[1]}{drawn}\n{found[2]}", page, flags=re.DOTALL
        )
    return page


PAGES: dict[str, Callable[[], str]] = {
    "architecture.md": render_architecture,
    "reference/faults.md": render_faults,
}


def list_stale(folder: Path) -> list[str]:
    return [
        name
        for name, render in PAGES.items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != render()
    ]


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER) -> int:
    parser = argparse.ArgumentParser(prog="python -m docs.generate", description="Write the reference pages.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is stale")
    is_check = parser.parse_args(arguments).check
    stale = list_stale(folder)
    for name in stale:
        sys.stderr.write(f"{name}: {'stale, run `make docs`' if is_check else 'written'}\n")
        if not is_check:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(PAGES[name](), encoding="utf-8")
    return 1 if stale and is_check else 0


if __name__ == "__main__":
    sys.exit(main())
