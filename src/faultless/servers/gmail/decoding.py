"""Bytes and encoded words as text, whatever charset they claim to be in."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from email.header import decode_header
from email.message import Message

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
    """Base64 for URLs, padded or not; what is no base64 yields nothing."""
    try:
        return base64.urlsafe_b64decode(data + "=" * (-len(data) % 4))
    except (binascii.Error, ValueError):
        return b""


def decode_text(data: bytes, charset: str | None) -> str:
    """Valid UTF-8 with characters above ASCII is UTF-8 whatever the label says: by chance it never is.

    Gmail re-encodes some parts and keeps their label.
    """
    name = _lookup(charset)
    is_wide = name is not None and name.startswith(_WIDE)
    candidates = [name] if name and (is_wide or data.isascii()) else ["utf-8", name]
    for candidate in (*candidates, "utf-8"):
        if candidate:
            try:
                return data.decode(candidate)
            except (UnicodeError, LookupError):
                continue
    return data.decode(name if name and not is_wide else "cp1252", "replace")


def _lookup(charset: str | None) -> str | None:
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
