"""What a folder offers besides tools: files in `resources/`, and prompts in `prompts/*.md`."""

from __future__ import annotations

import functools
import mimetypes
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from faultless.contract import Fault, FaultKind
from faultless.kit import log
from faultless.kit.toolset import Prompt, Resource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_SLOT = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_LARGEST_BYTES = 4 * 1024 * 1024


class Documents:
    """Listed when the server starts, read whenever they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._resources = folder / "resources"
        self._prompts = folder / "prompts"

    def list_resources(self) -> list[Resource]:
        found = []
        for path in _list_files(self._resources):
            name = path.relative_to(self._resources).as_posix()
            kind = mimetypes.guess_type(name)[0] or "text/plain"
            read = functools.partial(_read, path, self._resources)
            found.append(Resource(f"tools:///resources/{quote(name)}", name, "", read, mime_type=kind))
        return found

    def list_prompts(self) -> list[Prompt]:
        found = []
        for path in _list_files(self._prompts):
            if path.suffix == ".md" and path.parent == self._prompts:
                try:
                    text = _read(path, self._prompts).decode(errors="replace")
                except Fault as fault:
                    log.error("prompt left out", prompt=path.stem, reason=fault.message)
                    continue
                first = next((line for line in text.splitlines() if line.strip()), "")
                slots = dict.fromkeys(_SLOT.findall(text), "")
                render = functools.partial(_render, path, self._prompts)
                found.append(Prompt(path.stem, first.lstrip("# ").strip(), slots, render))
        return found


def _list_files(folder: Path) -> Iterator[Path]:
    """Regular files, hidden ones left out; none that a link takes elsewhere."""
    for path in sorted(folder.rglob("*")):
        is_hidden = any(step.startswith(".") for step in path.relative_to(folder).parts)
        if is_hidden or not path.is_file():
            continue
        if _lies_in(path, folder):
            yield path
        else:
            log.error("a link leads out of the folder and is not offered", path=path)


def _lies_in(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _read(path: Path, folder: Path) -> bytes:
    """Looked at again, for it may have become a link since."""
    if not _lies_in(path, folder):
        raise Fault(FaultKind.PERMISSION_DENIED, f"{path.name} lies elsewhere", hint="ask for another")
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_BYTES + 1)
    except OSError as problem:
        raise Fault(FaultKind.NOT_FOUND, f"{path.name}: {problem.strerror}", hint="ask for another") from None
    if len(data) > _LARGEST_BYTES:
        raise Fault(
            FaultKind.TOO_LARGE,
            f"{path.name} has more than {_LARGEST_BYTES} bytes",
            hint="read it with a tool",
        )
    return data


def _render(path: Path, folder: Path, given: Mapping[str, str]) -> str:
    text = _read(path, folder).decode(errors="replace")
    return _SLOT.sub(lambda slot: given.get(slot[1], slot[0]), text)
