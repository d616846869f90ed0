"""The vault: notes read, written and patched under its rules."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.kit.root import Root
from faultless.servers.obsidian import faults, scope
from faultless.servers.obsidian.faults import explained
from faultless.servers.obsidian.files import Content, Tree
from faultless.servers.obsidian.index import Index
from faultless.servers.obsidian.note import Decoded, Note, decode, version_of
from faultless.servers.obsidian.outputs import Health, NoteAnswer, Patched, WrittenNote
from faultless.servers.obsidian.patch import apply_patch
from faultless.servers.obsidian.store import Store, Trash

if TYPE_CHECKING:
    from faultless.servers.obsidian.inputs import PatchNote, ReadNote, WriteNote
    from faultless.servers.obsidian.settings import Settings

_MEGABYTE = 1 << 20


class Vault:
    """One folder of notes. Safe for several threads, and for several servers on the same folder."""

    def __init__(self, settings: Settings, *, watch: bool = True) -> None:
        self.root = Root(settings.vault or settings.root)
        self.scope = scope.Scope(settings)
        self.tree = Tree(self.root.path)
        self.store = Store(self.tree, Trash(self.tree, settings.trash_megabytes * _MEGABYTE))
        self.index = Index(self.tree, self.scope, watch=watch)
        self._shown: dict[str, str] = {}

    def close(self) -> None:
        self.index.close()
        self.tree.close()

    def check_health(self) -> Health:
        counts = self.index.count()
        return Health(
            status="ok",
            vault_path=str(self.root.path),
            note_count=counts.notes,
            indexed_count=counts.indexed,
            freshness="watched" if counts.is_watched else "swept",
            access="read_only" if self.scope.read_only else "read_write",
        )

    def locate_note(self, given: str) -> str:
        """The checked path of a note to be read."""
        self.tree.require_present()
        path = self.locate(given)
        self.scope.require_note(path)
        return path

    def locate(self, given: str) -> str:
        """Proved inside; names that differ from those on disk in composition alone are those on disk.

        A Mac writes `é` as two characters and a model answers with one: neither could name the other's note.
        """
        path = scope.locate(self.root, given)
        if path.isascii() or self.tree.status(path) is not None:
            return path
        here = ""
        for name in path.split("/"):
            same = [one for one in self._names_in(here) if scope.is_same_text(one, name)]
            found = same[0] if len(same) == 1 and name not in same else name
            here = f"{here}/{found}".lstrip("/")
        return scope.locate(self.root, here)

    def locate_folder(self, given: str) -> str:
        """The checked path of a folder to be listed; the top is empty, `.` or `/`."""
        given = given.strip().rstrip("/")
        self.tree.require_present()
        path = self.locate(given) if given not in {"", "."} else "."
        if path == ".":
            return ""
        self.scope.require_visible(path)
        return path

    def locate_writable(self, given: str) -> str:
        path = self.locate_note(given)
        self.scope.require_writable(path)
        return path

    def finish_recovery(self) -> None:
        """Before reading: finish what a killed server left half done."""
        if not self.scope.read_only:
            self.store.recover_if_free()

    def read(self, arguments: ReadNote) -> NoteAnswer:
        path = self.locate_note(arguments.path)
        self.finish_recovery()
        content = self.store.read(path)
        note = Note.parse(content.data)
        answer = self._describe(path, note, content)
        self._shown[path] = answer.version
        return answer

    def read_text(self, path: str) -> tuple[Content, Decoded] | None:
        """The file and its text; None where it went away meanwhile or cannot be read."""
        try:
            content = self.store.read(path)
        except Fault:
            return None
        return content, decode(content.data)

    def _describe(self, path: str, note: Note, content: Content) -> NoteAnswer:
        version = version_of(content.data)
        try:
            fields = note.fields
        except Fault as fault:
            if fault.kind is FaultKind.PARSE_ERROR:
                fault.details.update(body=note.readable_body, version=version, frontmatter=note.yaml)
                self._shown[path] = version
            raise
        return NoteAnswer(
            path=path,
            frontmatter=fields,
            template=note.template,
            body=note.readable_body,
            version=version,
            modified=moment(content.status.st_mtime_ns),
            encoding=note.encoding,
        )

    def write(self, arguments: WriteNote) -> WrittenNote:
        path = self.locate_writable(arguments.path)
        with self.store.writing():
            self._clear_leftovers()
            with explained(path):
                try:
                    content = self.tree.read(path)
                except FileNotFoundError:
                    content = None
            if content is None:
                self._create(path, arguments)
            else:
                self._rewrite(path, arguments, content)
            after = self.store.read(path)
        note = Note.parse(after.data)
        answer = self._describe(path, note, after)
        self._shown[path] = answer.version
        return WrittenNote(**answer.model_dump(), created=content is None)

    def _create(self, path: str, arguments: WriteNote) -> None:
        if arguments.if_version is not None or (path in self._shown and not arguments.overwrite):
            raise faults.gone(path)
        self.require_new_name(path)
        note = (
            Note.of_text("")
            .with_fields(arguments.frontmatter, keep_others=True)
            .with_body(arguments.body or "")
        )
        self.store.create(path, note.encode())

    def _rewrite(self, path: str, arguments: WriteNote, content: Content) -> None:
        expected = arguments.if_version
        if expected is None and not arguments.overwrite:
            if path not in self._shown:
                raise faults.never_shown(path, version_of(content.data))
            expected = self._shown[path]
        require_version(path, content, expected)
        note = Note.parse(content.data)
        note.require_writable(path)
        merge = arguments.frontmatter_mode == "merge"
        if merge:  # corrupt frontmatter is told before anything is written
            self._describe(path, note, content)
        if arguments.frontmatter or not merge:
            note = note.with_fields(arguments.frontmatter, keep_others=merge)
        if arguments.body is not None:
            note = note.with_body(arguments.body)
        data = note.encode()
        if data != content.data:
            self.store.replace(path, data, content)

    def patch(self, arguments: PatchNote) -> Patched:
        path = self.locate_writable(arguments.path)
        with self.store.writing():
            self._clear_leftovers()
            content = self.store.read(path)
            require_version(path, content, arguments.if_version)
            note = Note.parse(content.data)
            note.require_writable(path)
            data = apply_patch(note, arguments).encode()
            if data != content.data:
                self.store.replace(path, data, content)
            after = self.store.read(path)
        self._shown[path] = version_of(after.data)
        return Patched(
            path=path,
            version=self._shown[path],
            changed=data != content.data,
            modified=moment(after.status.st_mtime_ns),
        )

    def require_new_name(self, path: str, *, leaving: str | None = None) -> None:
        """Good everywhere, and no clash with a name that differs only in case or composition."""
        scope.require_good_name(path)
        here = ""
        for name in path.split("/"):
            names = self._names_in(here)
            for other in names if name not in names else ():
                existing = f"{here}/{other}".lstrip("/")
                if scope.fold_name(other) == scope.fold_name(name) and existing != leaving:
                    raise faults.clashing_name(path, existing)
            here = f"{here}/{name}".lstrip("/")

    def _names_in(self, folder: str) -> set[str]:
        try:
            with self.tree.folder(folder) as descriptor:
                return set(os.listdir(descriptor))  # noqa: PTH208 - of a descriptor, not of a path
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise faults.explain(error, folder) from error

    def note_moved(self, old: str, new: str, version: str) -> None:
        """Who knew the note under its old path knows it under the new one."""
        if self._shown.pop(old, None) is not None:
            self._shown[new] = version

    def _clear_leftovers(self) -> None:
        leftovers = self.index.catalog.leftovers
        if leftovers:
            found = sorted(leftovers)
            leftovers.difference_update(found)
            self.store.sweep(found)


def require_version(path: str, content: Content, expected: str | None) -> None:
    current = version_of(content.data)
    if expected is not None and expected != current:
        raise faults.changed_since(path, expected, current)


def moment(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds // 10**9, UTC).isoformat().replace("+00:00", "Z")
