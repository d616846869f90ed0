"""Which paths of the vault this server may see and change."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.servers.obsidian.faults import refused

if TYPE_CHECKING:
    from faultless.kit.root import Root
    from faultless.servers.obsidian.settings import Settings

NOTE_SUFFIX = ".md"
# A person's approval lives here; a server that an agent drives must not be able to give it.
_APPROVAL_FOLDERS = ("Approved", "Done", "Rejected")
# Broken on some system the vault may be synced to, or unable to stand in a link.
_BAD_IN_NAMES = re.compile(r'[\\:*?"<>|#^\[\]\x00-\x1f\x7f]')
# Not seen, or seen as a space: direction marks, zero-width letters, fillers, tags, foreign spaces at an end.
_DECEIVES = re.compile(
    "[\u00ad\u061c\u115f\u1160\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\u2800\u3164\ufeff\uffa0\U000e0000-\U000e007f]"
    r"|^[^\S ]|[^\S ](?:\.\w+)?$"
)
# Letters of other scripts that look like those of the folders' names.
_LOOKALIKES = str.maketrans("арегсоԁіјптνοαετ", "apercodijntvoaet")
_NOT_UTF8 = re.compile("[\ud800-\udfff]")  # how Python shows a byte of a name that is not UTF-8
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?\Z", re.IGNORECASE)
_GLOB = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\]]+\]")


def fold_name(text: str) -> str:
    """As the laxest file system sees it: case, composition, invisible letters and trailing dots ignored."""
    if text.isascii():
        lower = text.lower()
        plain = "./" not in lower and " /" not in lower and not lower.endswith((".", " "))
        return lower if plain else _trim(lower)
    composed = unicodedata.normalize("NFC", text).casefold()
    visible = "".join(letter for letter in composed if unicodedata.category(letter) != "Cf")
    return _trim(unicodedata.normalize("NFC", visible))


def is_same_text(one: str, other: str) -> bool:
    return unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)


def _trim(text: str) -> str:
    return "/".join(part.rstrip(" .") or part for part in text.split("/"))


def _compile(globs: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile("|".join(map(_translate, globs)), re.DOTALL) if globs else None


def _translate(glob: str) -> str:
    """`**` crosses folders, `*` does not; a folder's name means all that is in it."""
    text = fold_name(glob.strip("/"))
    places = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pattern, last = "", 0
    for found in _GLOB.finditer(text):
        pattern += re.escape(text[last : found.start()]) + places.get(found[0], found[0])
        last = found.end()
    return f"(?:{pattern}{re.escape(text[last:])}(?:/.*)?\\Z)"


class Scope:
    """The rules the server was started with."""

    def __init__(self, settings: Settings) -> None:
        self.read_only = settings.read_only
        self._writable = settings.allow_write
        self._allowed = _compile(settings.allow_write)
        approvals = () if settings.allow_approvals else _APPROVAL_FOLDERS
        self._denied = _compile((*settings.deny, *approvals))

    @staticmethod
    def is_note(path: str) -> bool:
        return path.lower().endswith(NOTE_SUFFIX)

    def can_see(self, path: str) -> bool:
        """Quick for the index: no dot folder, nothing denied, no name that JSON cannot hold."""
        if path.startswith(".") or "/." in path:
            return False
        if not path.isascii() and _NOT_UTF8.search(path):
            return False
        return self._denied is None or self._denied.match(fold_name(path)) is None

    def require_visible(self, path: str) -> None:
        folded = fold_name(path)
        if any(part.startswith(".") for part in folded.split("/") if part != "."):
            raise refused(path, "hidden files and folders are off limits", "name a note outside dot folders")
        if self._denied is not None and self._denied.match(folded):
            raise refused(path, "this server is denied that folder", "ask the person who runs the server")

    def require_note(self, path: str) -> None:
        self.require_visible(path)
        if not self.is_note(path):
            why = f"only notes ending in {NOTE_SUFFIX} may be used"
            raise refused(path, why, f"did you mean {path}{NOTE_SUFFIX}?")

    def require_writable(self, path: str) -> None:
        self.require_note(path)
        if self.read_only:
            raise refused(path, "this server is read-only", "ask the person who runs it to allow writing")
        if self._allowed is not None and not self._allowed.match(fold_name(path)):
            allowed = ", ".join(self._writable)
            raise refused(path, "it lies outside the folders open for writing", f"write under {allowed}")

    def can_write(self, path: str) -> bool:
        """Whether a link in this file may be rewritten; canvases count with the notes."""
        if self.read_only or not self.can_see(path):
            return False
        return self._allowed is None or self._allowed.match(fold_name(path)) is not None


def require_good_name(path: str) -> None:
    """A new name must work on every system and inside a link, and must not pass for another."""
    for part in path.split("/"):
        if _DECEIVES.search(part) or _looks_approved(part):
            raise refused(path, f"the name {part!a} would pass for another one", "choose a plain name")
        bad = _BAD_IN_NAMES.search(part)
        stem = part.rpartition(".")[0] or part
        reserved = (
            _RESERVED.match(part) or part != part.strip(" ") or part.endswith(".") or stem.endswith(" ")
        )
        if (
            bad
            or reserved
            or any(unicodedata.category(letter) in {"Cs", "Cn", "Zl", "Zp"} for letter in part)
        ):
            what = f"{bad[0]!r}" if bad else "what some systems forbid"
            raise Fault(
                FaultKind.INVALID_PARAMS,
                f"the name {part!r} holds {what}, which breaks links or other systems",
                hint="leave it out of the name",
            )


def _looks_approved(part: str) -> bool:
    """Whether a person would take it for a folder where approvals live, and a computer would not."""
    plain = unicodedata.normalize("NFKD", part).casefold().translate(_LOOKALIKES)
    letters = "".join(letter for letter in plain if letter.isalpha())
    names = {name.lower() for name in _APPROVAL_FOLDERS}
    return letters in names and fold_name(part) not in names and not part.isascii()


def locate(root: Root, given: str) -> str:
    """The path inside the vault, links refused: a link would be a second door to a denied folder."""
    found = root.resolve(given)
    relative = found.relative_to(root.path).as_posix()
    plain = posixpath.normpath(given)
    if not plain.startswith("/") and plain != relative:
        raise refused(plain, "it goes through a symbolic link", f"use {relative} itself")
    return relative
