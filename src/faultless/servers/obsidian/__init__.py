"""A vault of Markdown notes that an agent cannot damage."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faultless.kit.toolset import Check, ServerKind, Toolset

if TYPE_CHECKING:
    from rich.console import RenderableType

_MEGABYTE = 1 << 20
_OPTIONS = [
    click.Option(
        ["--vault"],
        envvar="VAULT_PATH",
        type=click.Path(file_okay=False),
        metavar="DIR",
        help="The vault, if it is not --root.",
    ),
    click.Option(["--read-only"], is_flag=True, help="Refuse every change."),
    click.Option(
        ["--allow-write"],
        multiple=True,
        metavar="GLOB",
        help="Allow changes only in paths like this; repeatable.",
    ),
    click.Option(
        ["--deny"], multiple=True, metavar="GLOB", help="Neither show nor change such paths; repeatable."
    ),
    click.Option(
        ["--allow-approvals"],
        is_flag=True,
        help="Open Approved/, Done/ and Rejected/, which hold a person's approval; for the outbox only.",
    ),
    click.Option(
        ["--trash-megabytes"],
        type=click.IntRange(min=16),
        default=256,
        show_default=True,
        metavar="N",
        help="How much replaced content .trash/faultless keeps.",
    ),
]


def _build(root: Path, options: dict[str, Any]) -> Toolset:
    from faultless.servers.obsidian.scope import APPROVAL_FOLDERS, Scope  # noqa: PLC0415 - --help starts sooner
    from faultless.servers.obsidian.toolset import make_toolset  # noqa: PLC0415 - as above
    from faultless.servers.obsidian.vault import Vault  # noqa: PLC0415 - as above

    approvals = () if options.get("allow_approvals") else APPROVAL_FOLDERS
    scope = Scope(
        read_only=options.get("read_only", False),
        allow_write=tuple(options.get("allow_write", ())),
        deny=(*options.get("deny", ()), *approvals),
    )
    megabytes: int = options.get("trash_megabytes", 256)
    vault = Vault(Path(options.get("vault") or root), scope, trash_bytes=megabytes * _MEGABYTE)
    return make_toolset(vault)


def _is_bad_news(tool: str, answer: dict[str, Any]) -> bool:
    """Broken links are; a search without hits is not."""
    return tool == "get_links" and bool(answer.get("broken"))


def _render(tool: str, answer: dict[str, Any]) -> RenderableType | None:
    from rich.markdown import Markdown  # noqa: PLC0415 - needed by `faultless call` only
    from rich.table import Table  # noqa: PLC0415 - as above

    if tool == "read_note":
        return Markdown(answer["body"])
    if tool not in {"search_notes", "list_notes"}:
        return None
    table = Table("note", "snippet", title=f"{answer['count']} notes", title_justify="left")
    for note in answer["notes"]:
        table.add_row(note["path"], note["snippet"])
    return table


def _diagnose(root: Path) -> list[Check]:
    """Whether the libraries are there, and whether the vault can be written and watched."""
    missing = [name for name in ("ruamel.yaml", "yaml12", "regex") if importlib.util.find_spec(name) is None]
    found = f"no {', '.join(missing)}" if missing else "all there"
    checks = [Check("libraries", not missing, found, "pip install 'faultless[obsidian]'")]
    if missing:
        return checks
    from faultless.servers.obsidian.watch import file_system_of, open_watcher  # noqa: PLC0415 - doctor only

    vault = Path(os.environ.get("VAULT_PATH") or root)
    writable = os.access(vault, os.W_OK)
    checks.append(Check("vault", writable, str(vault), "give write access, or serve with --read-only"))
    if vault.is_dir():
        watcher = open_watcher(vault)
        told = f"{file_system_of(vault)}, {'watched' if watcher else 'swept at each call'}"
        checks.append(Check("freshness", watcher is not None, told, "keep the vault on a local disk"))
        if watcher is not None:
            watcher.close()
    return checks


server = ServerKind(
    name="obsidian",
    summary="Read, search, write and move the notes of an Obsidian vault without ever losing one",
    build=_build,
    options=_OPTIONS,
    is_bad_news=_is_bad_news,
    render=_render,
    diagnose=_diagnose,
)
