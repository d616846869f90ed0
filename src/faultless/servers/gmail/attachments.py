"""Saving attachments: under our own names, inside one folder, never over anything."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.kit.root import Root
from faultless.servers.gmail.messages import list_attachments, name_attachment, read_tree
from faultless.servers.gmail.outputs import SavedAttachment

if TYPE_CHECKING:
    from pathlib import Path

    from faultless.servers.gmail.inputs import GetAttachment
    from faultless.servers.gmail.mailbox import Mailbox
    from faultless.servers.gmail.messages import Part

# A short list: an extension decides what happens on a double click.
_EXTENSIONS = {
    "application/pdf": ".pdf",
    "application/json": ".json",
    "application/zip": ".zip",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "image/gif": ".gif",
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/webp": ".webp",
    "message/rfc822": ".eml",
    "text/calendar": ".ics",
    "text/csv": ".csv",
    "text/plain": ".txt",
}


async def save(mailbox: Mailbox, folder: Path, arguments: GetAttachment) -> SavedAttachment:
    message = await mailbox.get_message(arguments.message_id)
    part = _find(read_tree(message.get("payload") or {}), arguments.part_id)
    data = part.data
    if part.attachment_id:
        data = await mailbox.get_attachment(arguments.message_id, part.attachment_id)
    name = f"{arguments.message_id}-{arguments.part_id}{_EXTENSIONS.get(part.mime_type, '.bin')}"
    _write(folder, name, data)
    return SavedAttachment(
        path=name,
        name=name_attachment(part),
        mime_type=part.mime_type,
        size_bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
    )


def _find(tree: Part, part_id: str) -> Part:
    attached = {part.id: part for part in list_attachments(tree)}
    if part_id in attached:
        return attached[part_id]
    known = ", ".join(f"{part.id} ({name_attachment(part)})" for part in attached.values())
    raise Fault(
        FaultKind.NOT_FOUND,
        f"the email has no attachment with part id {part_id}",
        hint=f"it has: {known}" if known else "it has no attachments",
        details={"part_ids": list(attached)},
    )


def _write(folder: Path, name: str, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    root = Root(folder)
    try:
        descriptor = root.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except Fault as fault:
        if fault.kind is FaultKind.CONFLICT and root.resolve(name).read_bytes() == data:
            return  # saved before, the same bytes
        raise
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
