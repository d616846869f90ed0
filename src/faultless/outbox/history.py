"""What became of the same mail before, under whatever name: approved, left, or nobody knows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultless.contract import Fault, FaultKind
from faultless.outbox.letter import has_left, read_letter
from faultless.outbox.servers import DONE

if TYPE_CHECKING:
    from faultless.approval import Approval, ApprovalStore, Content
    from faultless.outbox.letter import Note
    from faultless.outbox.servers import Mailer, Vault


@dataclass(frozen=True, slots=True)
class History:
    """Of one content. Each approval is in at most one of these; a void one is in none."""

    left: tuple[Approval, ...] = ()
    undecided: tuple[Approval, ...] = ()
    """It may have left, or is leaving now."""
    waiting: tuple[Approval, ...] = ()
    """Nothing left, and it may go on with the same approval."""


async def look_up_history(approvals: ApprovalStore, mailer: Mailer, content: Content) -> History:
    fates: dict[str, list[Approval]] = {"sent": [], "not_sent": [], "void": []}
    undecided: list[Approval] = []
    for approval in approvals.list_same(content):
        try:
            state, _ = await mailer.look_up_delivery(approval.id)
        except Fault as fault:
            if fault.kind is not FaultKind.OUTCOME_UNKNOWN:
                raise
            state = "unknown"
        fates.get(state, undecided).append(approval)
    return History(tuple(fates["sent"]), tuple(undecided), tuple(fates["not_sent"]))


async def find_filed_copy(vault: Vault, note: Note, content: Content) -> str | None:
    """A note in Done/ that left with the same content, whichever machine sent it."""
    field = next((name for name in ("subject", "reply_to_message_id") if note.frontmatter.get(name)), None)
    if field is None:
        return None
    narrowed = f"{field}:{json.dumps(note.frontmatter[field])}"
    for path in await vault.list(DONE, narrowed):
        try:
            filed = await vault.read(path)
            if has_left(filed) and read_letter(filed, vault.folder).digest() == content.digest():
                return path
        except Fault:
            continue  # it is no mail any more, so not this one
    return None
