"""Putting a definition together from its parts, proved to fit each other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from faultless.servers.toolbox.argv import TemplateError, check_template
from faultless.servers.toolbox.definition import (
    Action,
    BrokenDefinitionError,
    Command,
    Definition,
    Script,
    check_name,
)
from faultless.servers.toolbox.schema import Schema, SchemaError

if TYPE_CHECKING:
    from faultless.servers.toolbox.directives import Traits


def assemble(
    name: str, description: str, *, source: str, action: Action, schema: dict[str, Any], traits: Traits
) -> Definition:
    """A definition whose parts are proved to fit each other."""
    check_name(name)
    if schema.get("type") != "object":
        raise BrokenDefinitionError('the schema of the parameters does not say "type": "object"', name=name)
    try:
        checker = Schema(schema)
        output_checker = Schema(traits.output_schema) if traits.output_schema else None
        if isinstance(action, Script | Command):
            check_action(action, schema)
    except (SchemaError, TemplateError) as refused:
        raise BrokenDefinitionError(str(refused), name=name) from None
    if traits.output_schema and traits.output_schema.get("type") != "object":
        raise BrokenDefinitionError('an output schema must say "type": "object"', name=name)
    return Definition(
        name=name,
        description=description,
        source=source,
        action=action,
        input_schema=schema,
        checker=checker,
        output=traits.output,
        output_schema=traits.output_schema,
        output_checker=output_checker,
        annotations=traits.annotations,
        timeout_seconds=traits.timeout_seconds,
        ok_exits=traits.ok_exits,
        env=traits.env,
        fills_defaults=isinstance(action, Script | Command),
    )


def check_action(action: Script | Command, schema: dict[str, Any]) -> None:
    properties = schema.get("properties", {})
    given = set(schema.get("required", ()))
    given |= {name for name, rule in properties.items() if isinstance(rule, dict) and "default" in rule}
    check_template(action.template, properties, given)
    names = [variable_name(name) for name in properties]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise TemplateError(f"two parameters would both be called {twice}")


def variable_name(parameter: str) -> str:
    return "ARG_" + re.sub(r"\W", "_", parameter).upper()
