"""docs/reference/clients.md, from what the clients showed."""

import json

from tests.clients.cases import CASES, ROOT, Case
from tests.clients.matrix import CLIENTS, SILENT, Shown

PAGE = ROOT / "docs/reference/clients.md"
INTRODUCTION = """\
# What clients show

<!-- Written by `FAULTLESS_UPDATE_GOLDEN=1 make test-clients` from what the clients did; edit tests/clients. -->

Real clients, each at the version named, called our servers over stdio; this is what came out at the other end. In
every cell the message and the next move arrived, but for one: where a tool of the toolbox ran and failed, its own output
comes first, and fastmcp passes on the first text block only. What differs is the way:

- **answer**: an ordinary tool result;
- **error**: a tool result marked as an error, which the model reads;
- **raised**: an exception with this text, which the application has to pass on to the model. `--faults result` turns
  most of these into **error**, and `faultless config` asks for it where the client is known to keep them from the model.
"""
SILENT_NOTE = """
openai-agents gives the model this and nothing else for every JSON-RPC error, unless the application passes a
`failure_error_function` (as was done here) or the server runs with `--faults result`:
"""
WORDS = """
## Word for word

`…` stands for what differs from run to run (places, times, what a search met on its way) and for long captured output.
"""
LEFT_OUT = {
    *("stdout", "text_output", "traceback", "body", "command", "interpreter", "cwd", "modified"),
    *("duration", "duration_seconds", "time_seconds"),
    *(
        "engines",
        "isolation",
        "triggering_inputs",
        "paths_to_exception",
        "total_paths_explored",
        "confidence",
    ),
}


def render_page(matrix: dict[str, Shown]) -> str:
    header = ["case", *(f"{client.name} {client.version}" for client in CLIENTS)]
    rows = [[case.name, *(matrix[client.name][case.name][0] for client in CLIENTS)] for case in CASES]
    table = [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)]
    silence = ["```text", matrix[SILENT.name]["pytest: usage"][1], "```"]
    words = [line for case in CASES for line in _quote(case, matrix)]
    return "\n".join([INTRODUCTION, *table, SILENT_NOTE, *silence, WORDS, *words])


def _quote(case: Case, matrix: dict[str, Shown]) -> list[str]:
    """Each text once, with the clients that showed it."""
    seen: dict[str, list[str]] = {}
    for client in CLIENTS:
        how, text = matrix[client.name][case.name]
        seen.setdefault(f"{how}:\n{_shorten(text)}", []).append(client.name)
    lines = [f"### {case.name}", ""]
    for shown, names in seen.items():
        how, text = shown.split(":\n", 1)
        lines += [f"{', '.join(names)} ({how}):", "", "```text", text or "(nothing)", "```", ""]
    return lines


def _shorten(text: str) -> str:
    """The object in a text without what hangs on chance and on the machine; other text as it is."""
    start = max(text.find("{"), 0)
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except ValueError:
        return text.strip()
    shortened = json.dumps(_leave_out(value), ensure_ascii=False, separators=(",", ":"))
    return f"{text[:start]}{shortened}{text[end:]}".strip()


def _leave_out(value: object) -> object:
    if isinstance(value, dict):
        return {
            name: "…" if name in LEFT_OUT and item not in (None, [], "") else _leave_out(item)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_leave_out(item) for item in value]
    return _shorten(value) if isinstance(value, str) and value.startswith("{") else value
