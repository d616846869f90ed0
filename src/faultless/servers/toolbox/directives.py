"""The words that start with @: what they may say, in a script's header or in a docstring."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from faultless.contract.text import did_you_mean
from faultless.servers.toolbox.definition import JSON, TEXT, BrokenDefinitionError, Traits

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_TIMEOUT_SECONDS = 24 * 3600.0
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|)")
_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0}
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]+")
_HIGHEST_EXIT = 255


@dataclass
class Reader:
    """Takes directives one by one; the folder is where schema files lie."""

    folder: Path
    traits: Traits = field(default_factory=Traits)

    def take(self, word: str, text: str) -> None:
        try:
            read = _READERS[word]
        except KeyError:
            meant = word.removeprefix("no").lstrip("-")
            advice = f"; write @{meant} no" if meant in _SWITCHES else did_you_mean(word, _KNOWN)
            raise BrokenDefinitionError(f"unknown directive @{word}{advice}") from None
        self.traits = replace(self.traits, **read(self, text))


def _read_duration(text: str) -> float:
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not 0 < seconds <= LONGEST_TIMEOUT_SECONDS:
        raise BrokenDefinitionError(f"{text!r} is no time-out; write 30s, 500ms or 2m, at most a day")
    return seconds


def read_variables(text: str) -> tuple[str, ...]:
    names = tuple(text.replace(",", " ").split())
    if not names or not all(_VARIABLE.fullmatch(name) for name in names):
        raise BrokenDefinitionError(f"@env {text!r} does not name variables")
    return names


def _read_groups(text: str) -> tuple[str, ...]:
    names = tuple(text.replace(",", " ").split())
    if not names:
        raise BrokenDefinitionError("@group names no group")
    return names


def _read_exits(text: str) -> frozenset[int]:
    words = text.replace(",", " ").split()
    if not words or not all(
        word.isascii() and word.isdigit() and int(word) <= _HIGHEST_EXIT for word in words
    ):
        raise BrokenDefinitionError(f"@ok-exit {text!r} does not list exit codes from 0 to {_HIGHEST_EXIT}")
    return frozenset(int(word) for word in words)


def read_output(form: str) -> str:
    if form in {TEXT, JSON} or _MEDIA_TYPE.fullmatch(form):
        return form
    raise BrokenDefinitionError(f"@output {form!r} is not text, json or a media type such as image/png")


def read_schema(text: str, folder: Path) -> dict[str, Any]:
    """A JSON object, or the name of a file beside the definition that holds one."""
    try:
        if not text.lstrip().startswith("{"):
            text = (folder / text.strip()).read_text(encoding="utf-8")
        schema = json.loads(text)
    except OSError as problem:
        raise BrokenDefinitionError(f"cannot read the schema: {problem.strerror}: {text.strip()}") from None
    except ValueError as problem:
        raise BrokenDefinitionError(f"the schema is not JSON: {problem}") from None
    if not isinstance(schema, dict):
        raise BrokenDefinitionError("the schema is not a JSON object")
    return schema


def _read_yes(text: str) -> bool:
    answers = {"": True, "yes": True, "true": True, "no": False, "false": False}
    if text.lower() not in answers:
        raise BrokenDefinitionError(f"{text!r} is neither yes nor no")
    return answers[text.lower()]


def _read_switch(name: str) -> Callable[[Reader, str], dict[str, Any]]:
    def read(reader: Reader, text: str) -> dict[str, Any]:
        on = _read_yes(text)
        change: dict[str, bool] = {name: on}
        if name == "read_only" and on:
            change |= {"destructive": False, "idempotent": True}
        return {"annotations": replace(reader.traits.annotations, **change)}

    return read


def _read_output_directive(reader: Reader, text: str) -> dict[str, Any]:
    form, _, schema = text.strip().partition(" ")
    changes: dict[str, Any] = {"output": read_output(form)}
    if schema.strip():
        if form != JSON:
            raise BrokenDefinitionError("only @output json takes a schema")
        changes["output_schema"] = read_schema(schema, reader.folder)
    return changes


_SWITCHES = frozenset({"readonly", "idempotent", "destructive", "openworld"})
_READERS: dict[str, Callable[[Reader, str], dict[str, Any]]] = {
    "timeout": lambda _, text: {"timeout_seconds": _read_duration(text)},
    "readonly": _read_switch("read_only"),
    "idempotent": _read_switch("idempotent"),
    "destructive": _read_switch("destructive"),
    "openworld": _read_switch("open_world"),
    "ok-exit": lambda _, text: {"ok_exits": _read_exits(text)},
    "env": lambda reader, text: {"env": (*reader.traits.env, *read_variables(text))},
    "output": _read_output_directive,
    "group": lambda reader, text: {"groups": (*reader.traits.groups, *_read_groups(text))},
    "progress": lambda _, text: {"reports_progress": _read_yes(text)},
}
_KNOWN = frozenset({*_READERS, "tool", "name", "param", "schema", "argv"})
