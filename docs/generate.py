"""Write the reference pages from the tables in the code; `--check` only says whether they are fresh."""
# ruff: noqa: INP001 - a script among the pages it writes, run as `python -m docs.generate`

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from docs.api import render_api
from docs.pack import render_kinds, render_schema
from docs.rooms import draw_call, draw_rooms
from faultless.contract import FACTS, Dialect, ErrorReply, Fault, FaultKind, ResultReply, write
from faultless.contract.dialects import MODULE_NAME, NAMES, OUTPUT, choose_split_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

FOLDER = Path(__file__).parent

WRITTEN = "<!-- Written by `make docs` from the tables in src/faultless/contract; edit those. -->"
EXAMPLE = Fault(FaultKind.NOT_FOUND, "there is no note 'Jurnal.md'", hint="did you mean 'Journal.md'?")

FAULTS_INTRODUCTION = f"""\
# Faults

{WRITTEN}

A fault says that a tool could not do its job. It has one kind from this closed list, a message, a hint (the
next move), details, and `retry_after_seconds`.

## On the wire

A tool raises

```python
raise Fault(FaultKind.NOT_FOUND, "{EXAMPLE.message}", hint="{EXAMPLE.hint}")
```

and the client receives

```json
{{answer}}
```

- `isError` says that it is a fault, and the one text block holds all of it as JSON: `error` and `kind` name
  the kind. There is no `structuredContent`: the TypeScript SDK 1.x holds it against the tool's output schema
  even on errors, and then shows nothing of the fault.
- An unknown tool is a JSON-RPC error. The `message` of such an error is enough by itself, since most clients
  show nothing else: what happened, then the hint as its last sentence, within 600 characters. A longer one
  is cut in its middle, never in the hint (of which more than 500 characters make it longer), and
  `data.message` has it whole.
- Reading gives back exactly the fault that was written: `faultless.contract.read`, or the client.

Some servers write [other shapes](compatibility.md), because their users know those.

## Kinds
"""

COMPATIBILITY_INTRODUCTION = f"""\
# Compatibility

{WRITTEN}

A new server needs no dialect: its faults have [the one shape](faults.md#on-the-wire) that is called
`{Dialect.ERROR_KEY}` here. The others are for servers whose users know another shape already, and a toolset
declares one: `Toolset(name, version, dialect=Dialect.JSONRPC)`. Each also carries `kind`, `hint` and
`retry_after_seconds`, so that reading gives back exactly the fault that was written.

- `jsonrpc` (pytest): a JSON-RPC error; the name stands in `data.error_type`, the details directly in `data`.
- `status` (symbolic): a result with `status: "error"` and the tool's normal fields at their empty values; the
  name stands in `error_type`. A module that will not load is `{MODULE_NAME}`.
- `error_key` (gmail, obsidian, new servers): a result; the name stands in `error`.
- `split` (toolbox): a system failure is a JSON-RPC error with a standard code, whose message begins with
  "Internal error: " unless the call itself was refused. Where the tool ran and failed it is a result: its
  output unchanged is the first text block, the next one holds message and hint (the first, where nothing was
  printed), and the fault stands in `_meta.fault`.

In all of them a result carries `isError: true` and no `structuredContent`, and an unknown tool is a JSON-RPC
error. `serve --faults result` writes results where a dialect would send JSON-RPC errors: `message` and `data`
in one object, or, in `split`, the `fault`. `faultless config CLIENT` asks for that where CLIENT shows only
the message of a JSON-RPC error.

## One fault, four ways
{{examples}}
## Names
"""


def render_faults() -> str:
    kinds = ([_code(kind), facts.when, str(facts.code), facts.retry] for kind, facts in FACTS.items())
    return "\n".join(
        [
            FAULTS_INTRODUCTION.format(answer=_show(write(EXAMPLE, Dialect.ERROR_KEY))),
            *_table(["kind", "when", "JSON-RPC code", "retry"], kinds),
            "",
        ]
    )


def render_compatibility() -> str:
    names = (
        [_code(kind), *(_code(NAMES[dialect][kind]) for dialect in Dialect), str(choose_split_code(kind))]
        for kind in FaultKind
    )
    ran = Fault(
        FaultKind.TOOL_FAILED,
        "deploy failed with exit code 3: disk full",
        hint="make room",
        details={OUTPUT: "copied 3 files\n", "exit_code": 3},
    )
    shown = [(_code(dialect), write(EXAMPLE, dialect)) for dialect in Dialect]
    shown.append((f"{_code(Dialect.SPLIT)}, when the tool ran and failed", write(ran, Dialect.SPLIT)))
    examples = "".join(f"\n{title}\n\n```json\n{_show(reply)}\n```\n" for title, reply in shown)
    return "\n".join(
        [
            COMPATIBILITY_INTRODUCTION.format(examples=examples),
            *_table(["kind", *(_code(dialect) for dialect in Dialect), "code in `split`"], names),
            "",
        ]
    )


def _show(reply: ErrorReply | ResultReply) -> str:
    """The part of the response that is not the same for every call, one line for each of its members."""
    name, member = (
        ("result", reply.to_result()) if isinstance(reply, ResultReply) else ("error", asdict(reply))
    )
    rows = (f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in member.items())
    return f"{{{json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n}}"


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
    "reference/api.md": render_api,
    "reference/compatibility.md": render_compatibility,
    "reference/faults.md": render_faults,
    "../spec/fault.schema.json": render_schema,
    "../spec/kinds.json": render_kinds,
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
