"""The parts of a mail that an approval binds, and their hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from email.utils import formataddr, getaddresses

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Content:
    """A mail as a person reads it. `thread` is the Gmail id of the message it answers."""

    to: str
    subject: str
    body: str
    cc: str = ""
    bcc: str = ""
    html: str = ""
    thread: str = ""

    def digest(self) -> str:
        """The same for two spellings of one mail; different as soon as anybody would read something else."""
        bound = {
            "version": _VERSION,
            "to": _normalise(self.to),
            "cc": _normalise(self.cc),
            "bcc": _normalise(self.bcc),
            "subject": self.subject.strip(),
            "body": _unify(self.body),
            "html": _unify(self.html),
            "thread": self.thread.strip(),
        }
        canonical = json.dumps(bound, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def _normalise(addresses: str) -> list[str]:
    """One entry an address, its display name kept: a name is what the reader goes by."""
    return [formataddr(pair, charset="utf-8") for pair in getaddresses([addresses])] if addresses else []


def _unify(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()
