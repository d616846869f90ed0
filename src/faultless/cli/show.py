"""Verdicts and faults for people: colour in a terminal, plain text in a pipe."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from faultless.contract import Fault, Json, Reading, read
from faultless.contract.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

    from faultless.client import Reply
    from faultless.kit.command import ServerKind

PIPE_COLUMNS = 200
LONGEST_TEXT = 1_000_000


def console(*, stderr: bool = False) -> Console:
    """Rich honours NO_COLOR, FORCE_COLOR and COLUMNS; a character the terminal lacks must not end us."""
    stream = sys.stderr if stderr else sys.stdout
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal and "COLUMNS" not in made._environ:  # noqa: SLF001 - the environment rich looked at
        made.width = PIPE_COLUMNS
    return made


def emit(screen: Console, *renderables: RenderableType) -> None:
    """Print; a pipe gets no padding at the ends of lines."""
    if screen.is_terminal:
        screen.print(*renderables, sep="\n", soft_wrap=True)
        return
    with screen.capture() as printed:
        screen.print(*renderables, sep="\n", soft_wrap=True)
    lines = printed.get().splitlines()
    screen.file.write("".join(line.rstrip() + "\n" for line in lines))


def print_json(value: object) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")


def print_fault(fault: Fault) -> None:
    emit(console(stderr=True), render_fault(fault))


def print_recognised(response: dict[str, Any] | None, fault: Fault | None) -> None:
    """How a stranger's answer was read, for whoever wonders why."""
    reading = read(response) if response is not None else Reading()
    rows: list[tuple[str, str | None]] = [("shape", reading.shape), ("certainty", reading.certainty)]
    if fault is not None:
        rows += [("told by", fault.origin), ("layer", fault.layer), ("effect", fault.outcome)]
    elif reading.suspicion is not None:
        rows.append(("suspected of", f"{reading.suspicion.kind.value}: {reading.suspicion.message}"))
    told = [Text.assemble((f"  {name}: ", "cyan"), clean(text)) for name, text in rows if text]
    if told:
        emit(console(stderr=True), Group(Text("recognised:", "bold"), *told))


def render_fault(fault: Fault) -> RenderableType:
    rows = [("next", fault.hint or ""), ("retry", _retry(fault))]
    told = [
        Text.assemble((f"fault: {fault.kind.value}", "bold red")),
        Text(f"  {clean(fault.message)}"),
        *(Text.assemble((f"  {name}: ", "cyan"), clean(text)) for name, text in rows if text),
    ]
    if fault.details:
        told += [
            Text("  details:", "cyan"),
            *(Text(f"    {line}") for line in _lines(cleaned(fault.details))),
        ]
    return Group(*told)


def _retry(fault: Fault) -> str:
    after = fault.retry_after_seconds
    return fault.facts.retry.value + (f", after {after:g} s" if after is not None else "")


def print_reply(kind: ServerKind | None, tool: str, reply: Reply, title: str, style: str) -> None:
    """As the server's author wants it shown, or every field in its order."""
    shown: list[RenderableType] = [Text(title, style)]
    attached = render_attachments(reply.content)
    if isinstance(reply.value, dict):
        safe = cleaned(reply.value)
        own = kind.render(tool, safe) if kind is not None else None
        verdict = render_value(safe) if own is None else own
    else:
        verdict = Text(clean(reply.text, LONGEST_TEXT))
    if reply.text or not attached:
        shown.append(verdict)
    emit(console(), *shown, *attached)


def render_attachments(content: Sequence[Json]) -> list[Text]:
    """A line for each block that is not text: a terminal cannot show it, but must not hide it either."""
    blocks = [block for block in content if isinstance(block, dict) and block.get("type") != "text"]
    return [Text(f"[{_attachment(block)}]", "cyan") for block in blocks]


def _attachment(fields: dict[str, Json]) -> str:
    """Kind and size of an image, a sound or a resource; the whole of it is in the raw response."""
    inner = fields.get("resource")
    told = inner if isinstance(inner, dict) else fields
    encoded = str(told.get("data") or told.get("blob") or "")
    size = f", {len(encoded) * 3 // 4 - encoded.count('=')} bytes" if encoded else ""
    return clean(f"{told.get('mimeType') or fields.get('type')}{size}; --raw prints it", 200)


def cleaned(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Strangers' text must not command the terminal."""
    if isinstance(value, str):
        return clean(value, LONGEST_TEXT)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(str(name), 200): cleaned(item) for name, item in value.items()}
    return value


def render_value(value: Json) -> RenderableType:
    return Text("\n".join(_lines(cleaned(value))))


def _lines(value: Json) -> Iterable[str]:
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from _labelled(f"{name}:", item)
    elif isinstance(value, list) and value:
        for item in value:
            yield from _labelled("-", item)
    elif isinstance(value, str):
        yield from value.splitlines() or [""]
    else:
        yield json.dumps(value)


def _labelled(label: str, item: Json) -> Iterable[str]:
    """Short values beside their name, long ones below it."""
    lines = list(_lines(item))
    beside = len(lines) == 1 and not (isinstance(item, (dict, list)) and item)
    if beside or label == "-":
        yield f"{label} {lines[0]}".rstrip()
        yield from (f"  {line}" for line in lines[1:])
    else:
        yield label
        yield from (f"  {line}" for line in lines)


def render_tool(tool: dict[str, Any]) -> RenderableType:
    schema = tool.get("inputSchema", {})
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, rule in schema.get("properties", {}).items():
        star = "*" if name in schema.get("required", ()) else ""
        table.add_row(Text(f"{name}{star}", "cyan"), _describe_type(rule), Text(rule.get("description", "")))
    first_words = str(tool.get("description", "")).split("\n\n")[0].replace("\n", " ")
    marks = ", ".join(_marks(tool.get("annotations") or {}))
    title = Text.assemble((tool["name"], "bold"), ("  " + marks, "dim"))
    return Group(title, Padding(Text(first_words), (0, 0, 0, 2)), Padding(table, (0, 0, 1, 4)))


def _describe_type(rule: dict[str, Any]) -> str:
    if "enum" in rule:
        return " | ".join(str(value) for value in rule["enum"])
    options = rule.get("anyOf") or rule.get("oneOf")
    if options:
        return " | ".join(_describe_type(option) for option in options)
    if rule.get("type") == "array":
        return f"list of {_describe_type(rule.get('items', {}))}"
    default = f" = {rule['default']!r}" if rule.get("default") is not None else ""
    return str(rule.get("type", rule.get("$ref", "any")).rpartition("/")[2]) + default


def _marks(annotations: dict[str, Any]) -> list[str]:
    words = {"readOnlyHint": "read-only", "destructiveHint": "destructive", "idempotentHint": "idempotent"}
    return [word for key, word in words.items() if annotations.get(key)]
