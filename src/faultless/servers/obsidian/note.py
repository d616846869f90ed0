"""A note's bytes and its parts, frontmatter and body: read, edited and put back together byte for byte."""

from __future__ import annotations

import codecs
import hashlib
import math
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import yaml12

from faultless.contract import Fault, FaultKind, Json

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERSION_DIGITS = 20
_UNKNOWN_ENCODING = "unknown"

# The opening line, the YAML, the closing line. A `---` inside a value is indented, so it never stands alone.
_FENCED = re.compile(r"\A(---[ \t]*\r?\n)((?:.*?\r?\n)??)(---[ \t]*(?:\r?\n|\Z))", re.DOTALL)
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_NEWLINE = re.compile(r"\r?\n")
# Anchors may explode, tags and templates are not for the quick reader.
_NEEDS_CARE = ("&", "*", "!", "{{", "<%")
# A scalar or a list between fences is prose between two rules; a mapping or nonsense is frontmatter.
_LOOKS_LIKE_FIELD = re.compile(r"^ *(?:[^\s#\-][^\n]*?:(?:\s|$)|\?\s)", re.MULTILINE)


def version_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_VERSION_DIGITS]


class Decoded(NamedTuple):
    """The text of a file, and what turns it back into the same bytes."""

    mark: bytes
    encoding: str
    text: str
    has_bare_returns: bool = False
    """Lines end in a carriage return alone, as on an old Mac; the text has newlines in their place."""

    @property
    def readable_text(self) -> str:
        """With marks where bytes are no text."""
        return _make_readable(self.text) if self.encoding == _UNKNOWN_ENCODING else self.text

    def encode(self, text: str) -> bytes:
        """Another text in the same encoding."""
        text = text.replace("\n", "\r") if self.has_bare_returns else text
        if self.encoding.startswith("utf-16"):
            return self.mark + text.encode(self.encoding)
        return self.mark + text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> Decoded:
    """What does not come back to the same bytes is of unknown encoding."""
    found = _decode(data)
    if "\r" in found.text and "\n" not in found.text:
        return found._replace(text=found.text.replace("\r", "\n"), has_bare_returns=True)
    return found


def _decode(data: bytes) -> Decoded:
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            with suppress(UnicodeDecodeError):
                text = data[len(mark) :].decode(encoding)
                if text.encode(encoding) == data[len(mark) :]:
                    return Decoded(mark, encoding, text)
    try:
        return Decoded(b"", "utf-8", data.decode("utf-8"))
    except UnicodeDecodeError:
        return Decoded(b"", _UNKNOWN_ENCODING, data.decode("utf-8", "surrogateescape"))


def _make_readable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Note:
    """`opening + yaml + closing + body` is the text; bytes that are no text survive as lone surrogates."""

    mark: bytes
    encoding: str
    opening: str
    yaml: str
    closing: str
    body: str
    has_bare_returns: bool = False

    @classmethod
    def parse(cls, data: bytes) -> Note:
        decoded = decode(data)
        note = cls.of_text(decoded.text, decoded.mark, decoded.encoding)
        return replace(note, has_bare_returns=decoded.has_bare_returns)

    @classmethod
    def of_text(cls, text: str, mark: bytes = b"", encoding: str = "utf-8") -> Note:
        fenced = _FENCED.match(text)
        if fenced is None or not _is_mapping(fenced[2]):
            return cls(mark, encoding, "", "", "", text)
        return cls(mark, encoding, fenced[1], fenced[2], fenced[3], text[fenced.end() :])

    @property
    def text(self) -> str:
        return self.opening + self.yaml + self.closing + self.body

    @property
    def fields(self) -> dict[str, Json]:
        """The frontmatter, exactly; a parse_error counts lines from the top of the note."""
        return read_fields(self.yaml, first_line=2)

    @property
    def template(self) -> str | None:
        """The frontmatter as written, where its placeholders keep it from being YAML."""
        from faultless.servers.obsidian import yaml_text  # noqa: PLC0415 - slow to import

        return self.yaml if yaml_text.is_template(self.yaml) else None

    @property
    def has_readable_fields(self) -> bool:
        try:
            read_fields(self.yaml)
        except Fault:
            return False
        return True

    @property
    def readable_body(self) -> str:
        return _make_readable(self.body) if self.encoding == _UNKNOWN_ENCODING else self.body

    @property
    def newline(self) -> str | None:
        """The one newline the note uses, the commoner of two, or None where it has no line end."""
        ends = _NEWLINE.findall(self.text)
        if not ends:
            return None
        return "\r\n" if ends.count("\r\n") * 2 > len(ends) else "\n"

    def in_style(self, text: str) -> str:
        """The text with the note's newlines."""
        newline = self.newline
        return text if newline is None else _NEWLINE.sub(lambda _: newline, text)

    def encode(self) -> bytes:
        text = self.text.replace("\n", "\r") if self.has_bare_returns else self.text
        if self.encoding == _UNKNOWN_ENCODING:
            return text.encode("utf-8", "surrogateescape")
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise Fault(
                FaultKind.INVALID_PARAMS,
                "the text holds half of a surrogate pair, which no file can hold",
                hint="send whole characters",
            ) from error

    def with_body(self, body: str) -> Note:
        return replace(self, body=self.in_style(body)).fenced()

    def with_fields(self, wanted: dict[str, Json], *, keep_others: bool) -> Note:
        """Set these fields, byte for byte around them; the others stay, or go."""
        if not keep_others and not wanted:
            return replace(self, opening="", yaml="", closing="").fenced()
        newline = self.newline or "\n"
        yaml = edit_fields(self.yaml, wanted, keep_others=keep_others, newline=newline)
        if self.opening or not yaml:
            closing = (
                self.closing if _NEWLINE.search(self.closing) or not self.body else self.closing + newline
            )
            return replace(self, yaml=yaml, closing=closing)
        return replace(self, opening=f"---{newline}", yaml=yaml, closing=f"---{newline}")

    def without_field(self, name: str) -> Note:
        return replace(self, yaml=remove_field(self.yaml, name, newline=self.newline or "\n"))

    def fenced(self) -> Note:
        """A body that would itself read as frontmatter gets an empty block before it, so it stays a body.

        Likewise one that starts with the byte order mark: the note gets a mark of its own.
        """
        if not self.mark and self.text.startswith("\ufeff"):
            return replace(self, mark=codecs.BOM_UTF8).fenced()
        closed = not self.body or self.closing == "" or self.closing.endswith("\n")
        note = self if closed else replace(self, closing=self.closing + (self.newline or "\n"))
        if note.opening or not (found := _FENCED.match(note.body)) or not _is_mapping(found[2]):
            return note
        newline = note.newline or "\n"
        return replace(note, opening=f"---{newline}", closing=f"---{newline}")

    def require_writable(self, path: str) -> None:
        if self.encoding == _UNKNOWN_ENCODING:
            raise Fault(
                FaultKind.UNSUPPORTED,
                f"{path} is neither UTF-8 nor marked UTF-16, so its text cannot be changed without loss",
                hint="convert the note to UTF-8 first",
            )


def read_fields(text: str, *, first_line: int = 1) -> dict[str, Json]:
    """Frontmatter, exactly. A date stays its text: what was only read and written back is the same value."""
    from faultless.servers.obsidian import yaml_text  # noqa: PLC0415 - slow to import, and a search needs none

    return yaml_text.read_fields(text, first_line=first_line)


def read_quickly(text: str) -> dict[str, Json]:
    """The fields for filters, a hundred times faster than `read_fields`; corrupt YAML has none."""
    try:
        if any(sign in text for sign in _NEEDS_CARE):
            return read_fields(text)
        found = yaml12.parse_yaml(text)
    except (Fault, ValueError):
        return {}
    return {str(key): _plain(value) for key, value in found.items()} if isinstance(found, dict) else {}


def edit_fields(text: str, wanted: Mapping[str, Json], *, keep_others: bool, newline: str = "\n") -> str:
    """Frontmatter with these fields set, by splices, so that every untouched byte stays."""
    from faultless.servers.obsidian import yaml_text  # noqa: PLC0415 - as above

    return yaml_text.edit_fields(text, wanted, keep_others=keep_others, newline=newline)


def remove_field(text: str, name: str, *, newline: str = "\n") -> str:
    from faultless.servers.obsidian import yaml_text  # noqa: PLC0415 - as above

    return yaml_text.remove_field(text, name, newline=newline)


def _plain(value: object) -> Json:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _is_mapping(text: str) -> bool:
    """Whether the text between fences is meant as frontmatter (it may still be corrupt)."""
    if _LOOKS_LIKE_FIELD.search(text):
        return True
    lines = (line.strip() for line in text.splitlines())
    return all(not line or line.startswith("#") for line in lines)  # nothing, or comments alone
