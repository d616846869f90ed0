"""Text from what mails hold: bytes of any charset, encoded words, HTML without its hidden parts."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections import Counter
from email.header import decode_header
from email.message import Message
from html.parser import HTMLParser

# What mail programs write, and what they mean by it.
_MEANT = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "latin-1": "cp1252",
    "latin1": "cp1252",
    "iso-8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "shift_jis": "cp932",
    "x-sjis": "cp932",
    "iso-2022-jp": "iso-2022-jp-ext",
    "unicode-1-1-utf-7": "utf-7",
    "cp-850": "cp850",
    "utf8mb4": "utf-8",
}
_WIDE = ("utf-16", "utf-32", "ucs")
# Codecs that decode bytes into bytes, or run over their input for other reasons.
_NOT_CHARSETS = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"})


def decode_data(data: str) -> bytes:
    """Base64 for URLs, padded or not; what is not base64 yields nothing."""
    try:
        return base64.urlsafe_b64decode(data + "=" * (-len(data) % 4))
    except (binascii.Error, ValueError):
        return b""


def decode_text(data: bytes, charset: str | None) -> str:
    """Valid UTF-8 with characters above ASCII is UTF-8 whatever the label says: by chance it never is.

    Gmail re-encodes some parts and keeps their label.
    """
    name = _find_codec(charset)
    is_wide = name is not None and name.startswith(_WIDE)
    candidates = [name] if name and (is_wide or data.isascii()) else ["utf-8", name]
    for candidate in (*candidates, "utf-8"):
        if candidate:
            try:
                return data.decode(candidate)
            except (UnicodeError, LookupError):
                continue
    return data.decode(name if name and not is_wide else "cp1252", "replace")


def _find_codec(charset: str | None) -> str | None:
    written = (charset or "").strip("\"' ").lower()
    meant = _MEANT.get(written, written)
    try:
        info = codecs.lookup(meant) if meant else None
    except (LookupError, ValueError):
        return None
    is_charset = info is not None and info._is_text_encoding  # noqa: SLF001 - the only place that says so
    return info.name if info and is_charset and info.name.replace("-", "_") not in _NOT_CHARSETS else None


def decode_words(text: str) -> str:
    """A header's value with its encoded words decoded, on one line."""
    line = re.sub(r"[\r\n]+[ \t]*", " ", text)
    if "=?" not in line:
        return line.strip()
    try:
        pieces = decode_header(line)
    except (ValueError, binascii.Error):
        return line.strip()
    decoded = [
        decode_text(piece, charset or "utf-8") if isinstance(piece, bytes) else piece
        for piece, charset in pieces
    ]
    return "".join(decoded).strip() or line.strip()


def read_parameter(header: str, name: str) -> str | None:
    """One parameter of a Content-Type or Content-Disposition, RFC 2231 forms too."""
    message = Message()
    message["Content-Type"] = re.sub(r"[\r\n]+", " ", header)
    found = message.get_param(name)
    if found is None:
        return None
    if isinstance(found, tuple):
        charset, _, value = found
        return decode_text(value.encode("latin-1", "replace"), charset or "utf-8")
    return decode_words(found)


_SILENT = frozenset({"script", "style", "head", "title", "template", "noscript", "object", "svg"})
_VOID = frozenset({"br", "hr", "img", "meta", "link", "input", "col", "area", "base", "wbr", "source"})
_SPACED = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "table", "ul", "ol", "pre"})
_BLOCKS = _SPACED | {
    *("address", "article", "aside", "body", "center", "dd", "div", "dl", "dt", "fieldset", "figure"),
    *("footer", "form", "header", "html", "li", "main", "nav", "section", "tbody", "tfoot", "thead", "tr"),
}
# Mail hides its preview line in many ways; a reader of the mail never sees it, so neither does the model.
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(px|pt|em|%)?\s*(;|$)|mso-hide\s*:\s*all"
    r"|opacity\s*:\s*0(\.0+)?\s*(;|$)",
    re.IGNORECASE,
)


def read_html(html: str) -> str:
    """Blocks are lines, links show where they lead, hidden text is left out.

    Never raises; markup that is broken is read as far as it goes.
    """
    reader = _HtmlReader()
    reader.feed(html)
    reader.close()
    text = reader.text()
    if text:
        return text
    # A page that hides everything, or never closes its head, still has words in it.
    bare = re.sub(r"(?is)<(script|style)\b.*?(</\1\s*>|$)|<[^>]*>", " ", html)
    return re.sub(r"\s+", " ", bare).strip()


class _HtmlReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._open: list[tuple[str, bool]] = []
        """Open elements, and whether each one silences what is in it."""
        self._count: Counter[str] = Counter()
        self._silences = 0
        self._links: list[tuple[str, int]] = []
        self._preformatted = 0

    def text(self) -> str:
        joined = "".join(self._pieces)
        lines = (re.sub(r"[ \t\u00a0]+", " ", line).strip() for line in joined.split("\n"))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "body" and self._count["head"]:  # a head that was never closed ends here
            self.handle_endtag("head")
        self._begin_line(tag)
        if tag in _VOID:
            self._write_void(tag, given)
            return
        is_silent = tag in _SILENT or "hidden" in given or _HIDDEN.search(given.get("style", "")) is not None
        self._open.append((tag, is_silent))
        self._count[tag] += 1
        self._silences += is_silent
        if tag == "a":
            self._links.append((given.get("href", ""), len(self._pieces)))
        if tag == "li":
            self._write("- ")
        self._preformatted += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        while self._count[tag]:  # what was left open inside ends too
            name, was_silent = self._open.pop()
            self._count[name] -= 1
            self._silences -= was_silent
            self._end(name)
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        self._write(data if self._preformatted else re.sub(r"\s+", " ", data))

    def _begin_line(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._write("\n\n" if tag in _SPACED else "\n")

    def _end(self, tag: str) -> None:
        if tag == "a" and self._links:
            target, start = self._links.pop()
            shown = "".join(self._pieces[start:]).strip()
            if re.match(r"https?://|mailto:", target, re.IGNORECASE) and shown and shown not in target:
                self._write(f" ({target})")
        self._preformatted -= tag == "pre"
        if tag in {"td", "th"}:
            self._write(" ")
        self._begin_line(tag)

    def _write_void(self, tag: str, given: dict[str, str]) -> None:
        if tag == "br":
            self._write("\n")
        if tag == "hr":
            self._write("\n---\n")
        if tag == "img" and given.get("alt", "").strip():
            self._write(f"[{given['alt'].strip()}]")

    def _write(self, text: str) -> None:
        if not self._silences:
            self._pieces.append(text)
