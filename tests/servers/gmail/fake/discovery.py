"""Google's description of the Gmail API, as a judge of requests and answers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it has no stubs

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORMATS = {"int64": r"^-?\d{1,19}$", "uint64": r"^\d{1,20}$", "byte": r"^[A-Za-z0-9_-]*={0,2}$"}


@dataclass(frozen=True)
class Method:
    id: str
    http: str
    pattern: re.Pattern[str]
    parameters: dict[str, dict[str, Any]]
    request: str | None
    response: str | None
    largest_upload_bytes: int


@cache
def load() -> Discovery:
    folder = resources.files("googleapiclient") / "discovery_cache" / "documents"
    return Discovery(json.loads((folder / "gmail.v1.json").read_text()))


class Discovery:
    def __init__(self, document: dict[str, Any]) -> None:
        self._schemas = {name: _convert(schema) for name, schema in document["schemas"].items()}
        self._methods = list(_walk(document["resources"]))
        self._judges: dict[str, Draft202012Validator] = {}

    def find(self, http: str, path: str) -> tuple[Method, dict[str, str]] | None:
        """Literal paths before templates: `drafts/send` is no draft's id."""
        found = [
            (method, match.groupdict())
            for method in self._methods
            if method.http == http and (match := method.pattern.fullmatch(path))
        ]
        return min(found, key=lambda one: len(one[1]), default=None)

    def _judge(self, schema: str) -> Draft202012Validator:
        if schema not in self._judges:
            whole = {"$ref": f"#/$defs/{schema}", "$defs": self._schemas}
            self._judges[schema] = Draft202012Validator(whole)
        return self._judges[schema]

    def list_query_faults(self, method: Method, query: dict[str, list[str]]) -> Iterator[str]:
        for name, values in query.items():
            rule = method.parameters.get(name)
            if rule is None:
                yield f"{method.id}: no parameter {name}"
                continue
            if len(values) > 1 and not rule.get("repeated"):
                yield f"{method.id}: {name} given twice"
            if rule["type"] == "integer" and not all(value.isdigit() for value in values):
                yield f"{method.id}: {name} is no integer"
            if "enum" in rule and not set(values) <= set(rule["enum"]):
                yield f"{method.id}: {name} is none of {rule['enum']}"

    def list_upload_faults(self, method: Method, query: dict[str, list[str]], body: bytes) -> Iterator[str]:
        if query.pop("uploadType", None) != ["multipart"]:
            yield f"{method.id}: an upload of no kind"
        if len(body) > method.largest_upload_bytes:
            yield f"{method.id}: an upload of {len(body)} bytes"

    def list_body_faults(self, what: str, schema: str | None, body: object) -> Iterator[str]:
        if schema is None:
            if body:
                yield f"{what}: takes no body"
            return
        for error in self._judge(schema).iter_errors(body):
            yield f"{what}: {error.json_path}: {error.message[:200]}"


def _walk(resources_: dict[str, Any]) -> Iterator[Method]:
    for resource in resources_.values():
        for method in resource.get("methods", {}).values():
            yield Method(
                id=method["id"].removeprefix("gmail.users."),
                http=method["httpMethod"],
                pattern=re.compile("/" + re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", method["path"])),
                parameters=method.get("parameters", {}),
                request=method.get("request", {}).get("$ref"),
                response=method.get("response", {}).get("$ref"),
                largest_upload_bytes=int(method.get("mediaUpload", {}).get("maxSize", 0)),
            )
        yield from _walk(resource.get("resources", {}))


def _convert(schema: dict[str, Any]) -> dict[str, Any]:
    """Google's dialect of JSON Schema in the standard's; a field nobody described is a fault."""
    if "$ref" in schema:
        return {"$ref": f"#/$defs/{schema['$ref']}"}
    made: dict[str, Any] = {"type": schema["type"]}
    if schema.get("format") in _FORMATS:
        made["pattern"] = _FORMATS[schema["format"]]
    if "enum" in schema:
        made["enum"] = schema["enum"]
    if schema["type"] == "array":
        made["items"] = _convert(schema["items"])
    if schema["type"] == "object" and "properties" in schema:
        made["properties"] = {name: _convert(inner) for name, inner in schema["properties"].items()}
        made["additionalProperties"] = False
    return made
