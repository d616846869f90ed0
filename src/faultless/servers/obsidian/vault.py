"""The vault: notes read, written and patched under its rules."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.kit.root import Root
from faultless.servers.obsidian import faults, scope
from faultless.servers.obsidian.faults import explained
from faultless.servers.obsidian.index import Index
from faultless.servers.obsidian.note import Note, version_of
from faultless.servers.obsidian.patch import Patch, apply_patch
from faultless.servers.obsidian.shapes import (
    Health,
    NoteAnswer,
    Patched,
    PatchNote,
    ReadNote,
    WriteNote,
    WrittenNote,
)
from faultless.servers.obsidian.store import Store
from faultless.servers.obsidian.trash import DEFAULT_BYTES, Trash
from faultless.servers.obsidian.tree import Content, Tree

if TYPE_CHECKING:
    from pathlib import Path


class Vault:
    """One folder of notes. Safe for several threads, and for several servers on the same folder."""

    def __init__(
        self,
        path: Path,
        rules: scope.Scope | None = None,
        *,
        trash_bytes: int = DEFAULT_BYTES,
        watch: bool = True,
    ) -> None:
        self.root = Root(path)
        self.scope = rules or scope.Scope()
        self.tree = Tree(self.root.path)
        self.store = Store(self.tree, Trash(self.tree, trash_bytes))
        self.index = Index(self.tree, self.scope, watch=watch)
        self._shown: dict[str, str] = {}

    def close(self) -> None:
        self.index.close()
        self.tree.close()

    def check_health(self) -> Health:
        census = self.index.take_census()
        return Health(
            status="ok",
            vault_path=str(self.root.path),
            note_count=census.notes,
            indexed_count=census.indexed,
            freshness="watched" if census.is_watched else "swept",
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
            twins = [one for one in self._names_in(here) if scope.is_same_text(one, name)]
            found = twins[0] if len(twins) == 1 and name not in twins else name
            here = f"{here}/{found}".lstrip("/")
        return scope.locate(self.root, here)

    def locate_writable(self, given: str) -> str:
        path = self.locate_note(given)
        self.scope.require_writable(path)
        return path

    def settle(self) -> None:
        """Before reading: finish what a killed server left half done."""
        if not self.scope.read_only:
            self.store.recover_if_free()

    def read(self, asked: ReadNote) -> NoteAnswer:
        path = self.locate_note(asked.path)
        self.settle()
        content = self.store.read(path)
        note = Note.parse(content.data)
        answer = self.describe(path, note, content)
        self._shown[path] = answer.version
        return answer

    def describe(self, path: str, note: Note, content: Content) -> NoteAnswer:
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
            body=note.readable_body,
            version=version,
            modified=moment(content.status.st_mtime_ns),
            encoding=note.encoding,
        )

    def write(self, asked: WriteNote) -> WrittenNote:
        path = self.locate_writable(asked.path)
        with self.store.writing():
            self._clear_leftovers()
            content = self._read_or_none(path)
            if content is None:
                self._create(path, asked)
            else:
                self._rewrite(path, asked, content)
            after = self.store.read(path)
        note = Note.parse(after.data)
        answer = self.describe(path, note, after)
        self._shown[path] = answer.version
        return WrittenNote(**answer.model_dump(), created=content is None)

    def _create(self, path: str, asked: WriteNote) -> None:
        if asked.if_version is not None or (path in self._shown and not asked.overwrite):
            raise _gone(path)
        self.require_new_name(path)
        note = Note.blank().with_fields(asked.frontmatter, keep_others=True).with_body(asked.body or "")
        self.store.create(path, note.encode())

    def _rewrite(self, path: str, asked: WriteNote, content: Content) -> None:
        if not asked.overwrite or asked.if_version is not None:
            self._require_shown(path, content, asked.if_version)
        note = Note.parse(content.data)
        note.require_writable(path)
        merge = asked.frontmatter_mode == "merge"
        if merge:  # corrupt frontmatter is told before anything is written
            self.describe(path, note, content)
        if asked.frontmatter or not merge:
            note = note.with_fields(asked.frontmatter, keep_others=merge)
        if asked.body is not None:
            note = note.with_body(asked.body)
        data = note.encode()
        if data != content.data:
            self.store.replace(path, data, content)

    def patch(self, asked: PatchNote) -> Patched:
        path = self.locate_writable(asked.path)
        patch = Patch(
            asked.operation,
            asked.target_type,
            asked.target.strip(),
            asked.content,
            asked.subsections,
            asked.create_missing,
        )
        with self.store.writing():
            self._clear_leftovers()
            content = self.store.read(path)
            require_version(path, content, asked.if_version)
            note = Note.parse(content.data)
            note.require_writable(path)
            data = apply_patch(note, patch).encode()
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
        """Good everywhere, and not the twin of a name that differs only in case or composition."""
        scope.require_good_name(path)
        here = ""
        for name in path.split("/"):
            names = self._names_in(here)
            if name not in names:
                twins = [one for one in names if scope.fold_name(one) == scope.fold_name(name)]
                for twin in (f"{here}/{one}".lstrip("/") for one in twins):
                    if twin != leaving:
                        raise _twin(path, twin)
            here = f"{here}/{name}".lstrip("/")

    def _names_in(self, folder: str) -> set[str]:
        try:
            with self.tree.folder(folder) as descriptor:
                return set(os.listdir(descriptor))  # noqa: PTH208 - of a descriptor, not of a path
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise faults.explain(error, folder) from error

    def _read_or_none(self, path: str) -> Content | None:
        with explained(path):
            try:
                return self.tree.read(path)
            except FileNotFoundError:
                return None

    def _require_shown(self, path: str, content: Content, if_version: str | None) -> None:
        if if_version is None and path not in self._shown:
            raise Fault(
                FaultKind.CONFLICT,
                f"{path} exists and was not read in this session; it was not overwritten",
                hint="read_note it first, or pass overwrite true",
                details={"path": path, "current_version": version_of(content.data)},
            )
        require_version(path, content, if_version or self._shown[path])

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
        raise Fault(
            FaultKind.CONFLICT,
            f"{path} has changed since version {expected}; nothing was written",
            hint="read it again and repeat the change",
            details={"path": path, "current_version": current},
        )


def _gone(path: str) -> Fault:
    return Fault(
        FaultKind.CONFLICT,
        f"{path} was moved or removed since it was shown",
        hint="search for it; to make it anew, pass overwrite true and no if_version",
        details={"path": path},
    )


def _twin(path: str, twin: str) -> Fault:
    return Fault(
        FaultKind.CONFLICT,
        f"{path} differs from {twin} only in case or composition; on some systems they are one file",
        hint=f"use {twin}, or choose another name",
        details={"path": twin},
    )


def moment(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds // 10**9, UTC).isoformat().replace("+00:00", "Z")
