"""Answers mcbox's questions about JSON: a verb, and values on stdin with NUL after each."""

from __future__ import annotations

import json
import sys


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def parse(text: str) -> object:
    return json.loads(text, parse_constant=refuse_constant)


def answer(verb: str, values: list[str]) -> bool:
    documents = [parse(value) for value in (values[:1] if verb == "has_key" else values)]
    if verb == "is_valid":
        return True
    if verb == "compact":
        return show(documents[0])
    if not all(isinstance(document, dict) for document in documents):
        return False
    if verb == "has_key":
        return values[1] in documents[0]  # type: ignore[operator]  # an object, as just seen
    return show(merge(documents)) if verb == "merge" and documents else verb == "is_object"


def merge(documents: list[object]) -> object:
    """Only the top level: of two values under one name the later one wins."""
    merged: dict[str, object] = {}
    for document in documents:
        merged.update(document)  # type: ignore[call-overload]  # objects, as seen before
    return merged


def show(document: object) -> bool:
    sys.stdout.buffer.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return True


if __name__ == "__main__":
    given = sys.stdin.buffer.read().decode(errors="surrogateescape").split("\0")[:-1]
    try:
        sys.exit(0 if answer(sys.argv[1], given) else 1)
    except (ValueError, RecursionError):
        sys.exit(1)
