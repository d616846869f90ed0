"""What a written fault becomes: a JSON-RPC error, or a result that says it is one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from faultless.contract.fault import Json


@dataclass(frozen=True, slots=True)
class ErrorReply:
    code: int
    message: str
    data: dict[str, Json]

    def to_response(self) -> dict[str, Json]:
        """The response without its envelope (jsonrpc, id)."""
        return {"error": {"code": self.code, "message": self.message, "data": self.data}}


@dataclass(frozen=True, slots=True)
class ResultReply:
    payload: dict[str, Json]

    @property
    def text(self) -> str:
        return json.dumps(self.payload, ensure_ascii=False, separators=(",", ":"))

    def to_response(self) -> dict[str, Json]:
        """The response without its envelope; each half holds it all, since clients drop one or the other."""
        content: list[Json] = [{"type": "text", "text": self.text}]
        return {"result": {"content": content, "structuredContent": self.payload, "isError": True}}


Reply: TypeAlias = ErrorReply | ResultReply
