"""A mail as a person must see it before approving: nothing hidden, nothing that passes for something else."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faultless.approval import Content

# Printable by Unicode's own account, and seen as nothing: fillers, joiners, selectors, a blank Braille cell.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0e\uffa0\U0001d159\U000e0100-\U000e01ef]"
)
_WORD = re.compile(r"\w+")
_LOOKALIKES = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "FULLWIDTH", "MATHEMATICAL", "LISU")
"""Scripts with letters that look like Latin ones."""


def render(path: str, content: Content) -> str:
    """Everything the recipient will get, and nothing that the terminal would hide."""
    people = {"To": content.to, "Cc": content.cc, "Bcc": content.bcc}
    lines = [f"{visible(path)}:", ""]
    lines += [f"{name}: {_spell_all(text)}" for name, text in people.items() if text]
    lines.append(f"Subject: {visible(content.subject)}")
    if content.thread:
        lines.append(f"In reply to: {visible(content.thread)}")
    lines += [
        f"Attached: {visible(it.path)}, {it.size_bytes} bytes, {it.mime_type}, sha256 {it.sha256[:12]}"
        for it in content.attachments
    ]
    body = "\n".join(visible(line) for line in content.body.split("\n"))
    return "\n".join([*lines, "", body, ""])


def visible(text: str) -> str:
    """Characters that do not show, and letters of another script inside a Latin word, are spelled out."""
    mixed = {
        place
        for word in _WORD.finditer(text)
        if any("a" <= mark.lower() <= "z" for mark in word[0])
        for place in range(word.start(), word.end())
        if unicodedata.name(text[place], "").startswith(_LOOKALIKES)
    }
    return "".join(
        _spell(mark) if not mark.isprintable() or _UNSEEN.match(mark) or place in mixed else mark
        for place, mark in enumerate(text)
    )


def _spell_all(text: str) -> str:
    """Addresses decide who reads it: whatever is not plain stands beside them once more, letter by letter."""
    shown = visible(text)
    foreign = [word for word in text.replace(",", " ").split() if "@" in word and not word.isascii()]
    spelled = "; ".join(
        "".join(mark if mark.isascii() else _spell(mark) for mark in word) for word in foreign
    )
    return f"{shown}  [{spelled}]" if foreign else shown


def _spell(mark: str) -> str:
    return f"\\u{{{ord(mark):x}}}"
