"""What a tool may return, and what becomes of it: text, an object that fits its schema, or content."""

from __future__ import annotations

import base64
import collections.abc
import dataclasses
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, is_typeddict

from pydantic import BaseModel, RootModel, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from faultless.contract import Json
from faultless.kit.models import Answer, make_model, schema_of, stand_alone


@dataclass(frozen=True, slots=True)
class Output:
    """A verdict ready for the wire: the object, its compact JSON text, and content that is not JSON."""

    payload: dict[str, Json] | None
    text: str
    content: Sequence[Mapping[str, Json]] = ()


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as a tool's answer: `Image(path.read_bytes())`."""

    data: bytes
    mime_type: str = "image/png"


@dataclass(frozen=True, slots=True)
class Audio:
    """A sound as a tool's answer."""

    data: bytes
    mime_type: str = "audio/wav"


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """A pointer to a resource, which the client may read later."""

    uri: str
    name: str
    description: str | None = None
    mime_type: str | None = None


@dataclass(frozen=True, slots=True)
class EmbeddedResource:
    """A resource with its content: text, or bytes."""

    uri: str
    data: str | bytes
    mime_type: str | None = None


Content: TypeAlias = Image | Audio | ResourceLink | EmbeddedResource
_CONTENT = get_args(Content)
_UNIONS = {Union, types.UnionType}
_ROWS = {list, tuple, collections.abc.Sequence}
_PLAIN = "result"
"""The member under which a result stands that is not an object."""


class UnfitAnswerError(TypeError):
    """A tool returned something else than its return hint says; the message may be shown to anybody."""


@dataclass(frozen=True, slots=True)
class Returns:
    """What a return hint promises."""

    form: Literal["text", "bytes", "nothing", "content", "model", "object", "plain"]
    model: type[BaseModel] | None = None
    schema: dict[str, Any] | None = None

    def write(self, value: object) -> Output:
        """The value ready for the wire, proved to be what was promised."""
        if self.model is not None:
            return _write_model(self.model, value) if self.form == "model" else self._write_member(value)
        if self.form == "text" and isinstance(value, str):
            return Output(None, _check_text(value))
        if self.form == "nothing" and value is None:
            return Output(None, "")
        if self.form == "content":
            return Output(None, "", [_write_block(block) for block in _flatten(value)])
        raise UnfitAnswerError(f"it returned {_name_type(value)}, but its hint says {self.form}")

    def write_document(self, value: object) -> bytes:
        """The value by itself: text, bytes, or JSON."""
        if self.form == "bytes" and isinstance(value, bytes):
            return value
        output = self.write(value)
        is_wrapped = self.form == "plain" and output.payload is not None
        return to_json(output.payload[_PLAIN]) if is_wrapped and output.payload else output.text.encode()

    def _write_member(self, value: object) -> Output:
        assert self.model is not None  # noqa: S101 - called with one only
        wrapped = _write_model(self.model, self.model.model_construct(None, **{_PLAIN: value}))
        assert wrapped.payload is not None  # noqa: S101 - a model is an object
        inner = wrapped.payload[_PLAIN]
        if self.form == "object" and isinstance(inner, dict):
            return Output(inner, to_json(inner).decode())
        return wrapped


def plan_returns(hint: Any) -> Returns:  # noqa: ANN401 - a type
    """Text stays text; an object is the answer itself; anything else stands under `result`."""
    if hint is str:
        return Returns("text")
    if hint is None or hint is type(None):
        return Returns("nothing")
    if _is_content(hint):
        return Returns("content")
    if isinstance(hint, type) and issubclass(hint, BaseModel) and not issubclass(hint, RootModel):
        return Returns("model", hint, schema_of(hint, "serialization"))
    model = make_model(Answer, {_PLAIN: (hint, ...)})
    schema = schema_of(model, "serialization")
    inner = stand_alone(schema["properties"][_PLAIN], schema.get("$defs", {}))
    inner.pop("description", None)
    is_object = inner.get("type") == "object"
    return Returns("object" if is_object else "plain", model, inner if is_object else schema)


def _is_content(hint: Any) -> bool:  # noqa: ANN401 - a type
    leaves = list(_list_leaves(hint))
    return any(leaf in _CONTENT for leaf in leaves) and all(
        leaf in (*_CONTENT, str, type(None)) for leaf in leaves
    )


def _list_leaves(hint: Any) -> list[Any]:  # noqa: ANN401 - a type
    """The types in a union or a list."""
    if get_origin(hint) in _UNIONS | _ROWS:
        return [leaf for part in get_args(hint) if part is not ... for leaf in _list_leaves(part)]
    return [hint]


def mentions_content(hint: Any) -> bool:  # noqa: ANN401 - a type
    """Whether content stands anywhere in a hint, also where it cannot be sent from."""
    if hint in _CONTENT:
        return True
    parts = list(get_args(hint))
    if dataclasses.is_dataclass(hint) or is_typeddict(hint):
        parts += list(getattr(hint, "__annotations__", {}).values())
    return any(mentions_content(part) for part in parts if isinstance(part, type) or get_origin(part))


def _flatten(value: object) -> list[str | Content]:
    if isinstance(value, list | tuple):
        return [block for part in value for block in _flatten(part)]
    if value is None:
        return []
    if isinstance(value, str | Content):
        return [value]
    raise UnfitAnswerError(f"it returned {_name_type(value)}, but its hint says content")


def _write_block(block: str | Content) -> dict[str, Json]:
    match block:
        case str():
            return {"type": "text", "text": _check_text(block)}
        case Image() | Audio():
            kind = "image" if isinstance(block, Image) else "audio"
            return {"type": kind, "data": _encode(block.data), "mimeType": block.mime_type}
        case ResourceLink():
            told = {"description": block.description, "mimeType": block.mime_type}
            return {"type": "resource_link", "uri": block.uri, "name": block.name, **_known(told)}
        case EmbeddedResource():
            is_text = isinstance(block.data, str)
            data = {"text": block.data} if isinstance(block.data, str) else {"blob": _encode(block.data)}
            mime_type = block.mime_type or ("text/plain" if is_text else "application/octet-stream")
            return {"type": "resource", "resource": {"uri": block.uri, "mimeType": mime_type, **data}}


def _check_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as refused:
        raise UnfitAnswerError("it returned text with half a character in it (a lone surrogate)") from refused
    return text


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _known(facts: dict[str, str | None]) -> dict[str, Json]:
    return {name: value for name, value in facts.items() if value is not None}


def _write_model(model: type[BaseModel], answer: object) -> Output:
    """The answer as JSON, proved to fit the schema that clients will hold it against."""
    if not isinstance(answer, model):
        raise UnfitAnswerError(f"it returned {_name_type(answer)}, but its hint says {model.__name__}")
    try:
        text = answer.__pydantic_serializer__.to_json(answer, by_alias=True, warnings="error")
        payload = from_json(text, allow_inf_nan=False)
        model.model_validate_json(text)
    except ValidationError as refused:
        places = sorted({".".join(map(str, error["loc"])) for error in refused.errors()})
        raise UnfitAnswerError(f"what it returned does not fit its hint at {', '.join(places)}") from refused
    except PydanticSerializationError as refused:
        raise UnfitAnswerError("what it returned is not what its hint says") from refused
    except ValueError as refused:
        raise UnfitAnswerError("what it returned cannot be written as JSON: NaN or infinity") from refused
    return Output(payload, text.decode())


def _name_type(value: object) -> str:
    return "nothing" if value is None else f"a value of type {type(value).__name__}"
