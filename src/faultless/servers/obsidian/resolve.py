"""What a link points to, decided as Obsidian does: the name anywhere, nearest and shortest path first."""

from __future__ import annotations

import posixpath
import unicodedata
from typing import TYPE_CHECKING

from faultless.servers.obsidian.links import Link, LinkStyle

if TYPE_CHECKING:
    from collections.abc import Iterable

NOTE_SUFFIX = ".md"


def fold(text: str) -> str:
    """Names that Obsidian, or a file system that ignores case, takes for the same."""
    return unicodedata.normalize("NFC", text).casefold()


class Lookup:
    """Every file of the vault by its folded name."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_name: dict[str, set[str]] = {}
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        self._by_name.setdefault(fold(posixpath.basename(path)), set()).add(path)

    def remove(self, path: str) -> None:
        name = fold(posixpath.basename(path))
        paths = self._by_name.get(name, set())
        paths.discard(path)
        if not paths:
            self._by_name.pop(name, None)

    def named(self, path: str) -> set[str]:
        """Files with the same folded name."""
        return self.with_name(fold(posixpath.basename(path)))

    def resolve(self, link: Link, source: str) -> str | None:
        """The path the link points to from `source`, or None for a broken one."""
        if link.style is LinkStyle.CANVAS:
            return next((path for path in self.named(link.target) if path == link.target), None)
        if not link.target:
            return source
        if link.style is LinkStyle.MARKDOWN:
            beside = self.resolve_beside(link, source)
            if beside is not None:
                return beside
        return self._by_linkpath(link.target, source)

    def resolve_beside(self, link: Link, source: str) -> str | None:
        """What the link means to a plain Markdown reader: a path from the note's own folder."""
        return self._exact(posixpath.normpath(posixpath.join(posixpath.dirname(source), link.target)))

    def _by_linkpath(self, target: str, source: str) -> str | None:
        if target.startswith(("./", "../")):
            return self._exact(posixpath.normpath(posixpath.join(posixpath.dirname(source), target)))
        if target.startswith("/"):
            return self._exact(target.lstrip("/"))
        exact = self._exact(target)
        if exact is not None:
            return exact
        endings = ("/" + fold(target), "/" + fold(target) + NOTE_SUFFIX)
        candidates = [path for path in self._candidates(target) if fold("/" + path).endswith(endings)]
        here = fold(posixpath.dirname(source))
        near = f"{here}/" if here else ""
        return min(
            candidates,
            key=lambda path: (not fold(path).startswith(near), len(path), path),
            default=None,
        )

    def _exact(self, target: str) -> str | None:
        wanted = {fold(target), fold(target) + NOTE_SUFFIX}
        found = [path for path in self._candidates(target) if fold(path) in wanted]
        return min(found, key=lambda path: (path != target, fold(path) != fold(target), path), default=None)

    def _candidates(self, target: str) -> set[str]:
        name = fold(posixpath.basename(target))
        return self.with_name(name) | self.with_name(name + NOTE_SUFFIX)

    def with_name(self, name: str) -> set[str]:
        """Paths by folded name; not to be changed in place."""
        return self._by_name.get(name, _NONE)


_NONE: set[str] = set()


class Renamed(Lookup):
    """The same vault with one file under another path; nothing is copied."""

    def __init__(self, before: Lookup, old: str, new: str) -> None:
        super().__init__(())
        self._before = before
        self._old = old
        self._new = new
        self._new_name = fold(posixpath.basename(new))

    def with_name(self, name: str) -> set[str]:
        found = self._before.with_name(name) - {self._old}
        return found | {self._new} if name == self._new_name else found
