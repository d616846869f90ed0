"""A note's bytes and its parts: frontmatter text and body, put back together byte for byte."""

from __future__ import annotations

import codecs
import hashlib
import re
from dataclasses import dataclass, replace

from faultless.contract import Fault, FaultKind, Json
from faultless.servers.obsidian import frontmatter

VERSION_DIGITS = 20

# The opening line, the YAML, the closing line. A `---` inside a value is indented, so it never stands alone.
_FENCED = re.compile(r"\A(---[ \t]*\r?\n)((?:.*?\r?\n)??)(---[ \t]*(?:\r?\n|\Z))", re.DOTALL)
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_NEWLINE = re.compile(r"\r?\n")
UNKNOWN_ENCODING = "unknown"


def version_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:VERSION_DIGITS]


@dataclass(frozen=True, slots=True)
class Note:
    """`opening + yaml + closing + body` is the text; bytes that are no text survive as lone surrogates."""

    mark: bytes
    encoding: str
    opening: str
    yaml: str
    closing: str
    body: str

    @classmethod
    def parse(cls, data: bytes) -> Note:
        mark, encoding, text = decode(data)
        fenced = _FENCED.match(text)
        if fenced is None or not frontmatter.is_mapping(fenced[2]):
            return cls(mark, encoding, "", "", "", text)
        return cls(mark, encoding, fenced[1], fenced[2], fenced[3], text[fenced.end() :])

    @classmethod
    def blank(cls) -> Note:
        return cls(b"", "utf-8", "", "", "", "")

    @property
    def text(self) -> str:
        return self.opening + self.yaml + self.closing + self.body

    @property
    def fields(self) -> dict[str, Json]:
        """The frontmatter, exactly; a parse_error counts lines from the top of the note."""
        return frontmatter.read(self.yaml, first_line=2)

    @property
    def readable_body(self) -> str:
        if self.encoding != UNKNOWN_ENCODING:
            return self.body
        return self.body.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

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
        if self.encoding == UNKNOWN_ENCODING:
            return self.text.encode("utf-8", "surrogateescape")
        try:
            return self.mark + self.text.encode(self.encoding)
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
        yaml = frontmatter.edit(self.yaml, wanted, keep_others=keep_others, newline=newline)
        if self.opening or not yaml:
            closing = (
                self.closing if _NEWLINE.search(self.closing) or not self.body else self.closing + newline
            )
            return replace(self, yaml=yaml, closing=closing)
        return replace(self, opening=f"---{newline}", yaml=yaml, closing=f"---{newline}")

    def fenced(self) -> Note:
        """A body that would itself read as frontmatter gets an empty block before it, so it stays a body.

        Likewise one that starts with the byte order mark: the note gets a mark of its own.
        """
        if not self.mark and self.text.startswith("\ufeff"):
            return replace(self, mark=codecs.BOM_UTF8).fenced()
        closed = not self.body or self.closing == "" or self.closing.endswith("\n")
        note = self if closed else replace(self, closing=self.closing + (self.newline or "\n"))
        if note.opening or not (found := _FENCED.match(note.body)) or not frontmatter.is_mapping(found[2]):
            return note
        newline = note.newline or "\n"
        return replace(note, opening=f"---{newline}", closing=f"---{newline}")

    def require_writable(self, path: str) -> None:
        if self.encoding == UNKNOWN_ENCODING:
            raise Fault(
                FaultKind.UNSUPPORTED,
                f"{path} is neither UTF-8 nor marked UTF-16, so its text cannot be changed without loss",
                hint="convert the note to UTF-8 first",
            )


def decode(data: bytes) -> tuple[bytes, str, str]:
    """Mark, encoding and text. What does not come back to the same bytes is of unknown encoding."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            text = _decode_exactly(data[len(mark) :], encoding)
            if text is not None:
                return mark, encoding, text
    text = _decode_exactly(data, "utf-8")
    if text is not None:
        return b"", "utf-8", text
    return b"", UNKNOWN_ENCODING, data.decode("utf-8", "surrogateescape")


def _decode_exactly(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return text if encoding == "utf-8" or text.encode(encoding) == data else None
