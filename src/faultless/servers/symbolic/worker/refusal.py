"""A refusal: why a request cannot be answered, in the words of the fault contract."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):  # noqa: N818 - it becomes a fault on the other side of the pipe
    """`kind` is a fault kind's name; the worker does not import the contract."""

    def __init__(self, kind: str, message: str, *, hint: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.details = {name: value for name, value in details.items() if value is not None}

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "message": self.message, "hint": self.hint, "details": self.details}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Refusal:
        return cls(data["kind"], data["message"], hint=data.get("hint"), **data.get("details", {}))
