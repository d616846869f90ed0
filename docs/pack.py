"""The generated half of spec/: the kinds as data, and the schema of the fault as a new server writes it."""
# ruff: noqa: INP001 - beside the generator that uses it

from __future__ import annotations

import json

from faultless.contract import FACTS, Dialect, FaultKind
from faultless.contract.dialects import NAMES, choose_split_code


def render_kinds() -> str:
    kinds = [
        {
            "kind": kind.value,
            "when": facts.when,
            "retry": facts.retry.value,
            "code": facts.code,
            "code_in_split": choose_split_code(kind),
            "names": {dialect.value: NAMES[dialect][kind] for dialect in Dialect},
        }
        for kind, facts in FACTS.items()
    ]
    return json.dumps(kinds, indent=2) + "\n"


def render_schema() -> str:
    names = NAMES[Dialect.ERROR_KEY]
    properties = {
        "error": {
            "enum": [names[kind] for kind in FaultKind],
            "description": "The name of the kind on the wire.",
        },
        "kind": {
            "enum": [kind.value for kind in FaultKind],
            "description": "One of a closed list; see kinds.json.",
        },
        "message": {
            "type": "string",
            "minLength": 1,
            "description": "What could not be done, in one sentence.",
        },
        "hint": {
            "type": ["string", "null"],
            "description": "The next move: a command, a parameter, a candidate.",
        },
        "details": {"type": "object", "description": "What belongs to the kind; an absent key means null."},
        "retry_after_seconds": {"type": ["number", "null"], "minimum": 0},
    }
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Fault",
        "description": "The one text block of a result with isError: true.",
        "type": "object",
        "required": list(properties),
        "properties": properties,
    }
    return json.dumps(schema, indent=2) + "\n"
