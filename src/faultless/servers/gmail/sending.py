"""Sending at most once: a draft first, then that draft, and its fate looked up where the answer is lost."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import anyio

from faultless.approval import ApprovalStore, Content
from faultless.approval.store import refuse
from faultless.contract import Fault, FaultKind
from faultless.servers.gmail import addresses, compose
from faultless.servers.gmail.answers import DraftCreated, SendStatus, Sent
from faultless.servers.gmail.audit import SENT, Audit
from faultless.servers.gmail.deadline import within
from faultless.servers.gmail.fate import find_fate
from faultless.servers.gmail.rest import AnswerLostError, Request
from faultless.servers.gmail.send_ledger import SendLedger, SendRecord, State

if TYPE_CHECKING:
    from faultless.servers.gmail.arguments import Letter, SendEmail
    from faultless.servers.gmail.mailbox import Mailbox
    from faultless.servers.gmail.rest import Rest
    from faultless.servers.gmail.settings import Settings


class Sender:
    """Drafts and sends for one account."""

    def __init__(self, rest: Rest, mailbox: Mailbox, settings: Settings) -> None:
        self._rest = rest
        self._mailbox = mailbox
        self._policy = settings.policy
        self._deadline_seconds = settings.deadline_seconds
        self._approvals = ApprovalStore(settings.state_folder / "approvals")
        self._ledger = SendLedger(settings.state_folder / "gmail" / "sends")
        self._audit = Audit(settings.state_folder / "gmail", settings.policy.max_sends_per_hour)

    async def create_draft(self, asked: Letter) -> DraftCreated:
        content = read_content(asked)
        self._policy.require_recipients(addresses.list_bare(content.to, content.cc, content.bcc))
        try:
            draft = await self._draft(content, secrets.token_hex(16))
        except AnswerLostError as lost:
            raise _draft_lost(lost) from lost
        message = draft.get("message") or {}
        return DraftCreated(
            draft_id=str(draft["id"]),
            message_id=str(message.get("id", "")),
            thread_id=str(message.get("threadId", "")),
        )

    async def send(self, asked: SendEmail) -> Sent:
        """The audit journal sees every attempt, refused ones too."""
        content = read_content(asked)
        send_id = asked.approval_id or secrets.token_hex(16)
        recipients = addresses.list_bare(content.to, content.cc, content.bcc)
        attempt_id = self._audit.begin(
            send_id=send_id,
            approved=asked.approval_id is not None,
            recipients=list(recipients),
            content=content.digest(),
        )
        outcome = "interrupted"
        try:
            self._policy.require_recipients(recipients)
            self._require_approval(asked.approval_id, content)
            # From here on a cancelled call would leave a mail whose fate nobody has looked at.
            with anyio.CancelScope(shield=True):
                sent = await self._send(send_id, content)
            outcome = SENT
        except Fault as fault:
            outcome = fault.kind.value
            raise
        finally:
            self._audit.end(attempt_id, outcome, send_id=send_id)
        return sent

    async def get_status(self, send_id: str) -> SendStatus:
        with self._ledger.hold(send_id) as held:
            if not held:
                return _status(send_id, "in_progress")
            record = self._ledger.load(send_id)
            if record is None:
                self._require_known(send_id)
                return _status(send_id, "not_sent")
            if record.state is State.SENT:
                return _status(send_id, "sent", record)
            if not record.draft_id:
                return _status(send_id, "not_sent", record)
            fate = await find_fate(self._rest, record, self._deadline_seconds)
            if fate.state == "sent":
                record = self._note_sent(record, fate.message_id, fate.thread_id)
            return _status(send_id, fate.state, record)

    def _require_approval(self, approval_id: str | None, content: Content) -> None:
        if approval_id is not None:
            self._approvals.check(approval_id, content)
        elif self._policy.needs_approval:
            raise refuse("a person must approve this mail before it leaves", "none")

    def _require_known(self, send_id: str) -> None:
        try:
            self._approvals.find(send_id)
        except Fault as fault:
            raise Fault(
                FaultKind.NOT_FOUND,
                "no approval and no send has that id",
                hint="ids come from `faultless outbox approve`, or from a fault's details",
            ) from fault

    async def _send(self, send_id: str, content: Content) -> Sent:
        with self._ledger.hold(send_id) as held:
            if not held:
                raise Fault(
                    FaultKind.CONFLICT,
                    "this very mail is being sent at this moment",
                    hint="ask get_send_status how it ended",
                    details={"send_id": send_id},
                )
            record = await self._resume(send_id, content)
            if record.state is not State.SENT:
                record = await self._advance(record, content)
            return Sent(
                message_id=record.message_id,
                thread_id=record.thread_id,
                sent_at=record.sent_at,
                send_id=send_id,
            )

    async def _resume(self, send_id: str, content: Content) -> SendRecord:
        """Where an earlier attempt left off, if there was one."""
        record = self._ledger.load(send_id)
        if record is None:
            fresh = SendRecord(send_id, content.digest(), secrets.token_hex(16), time.time())
            return self._ledger.save(fresh)
        if record.state is State.SENT or not record.draft_id:
            return record
        return await self._settle(record, must_be_known=True)

    async def _advance(self, record: SendRecord, content: Content) -> SendRecord:
        if not record.draft_id:
            record = await self._make_draft(record, content)
        record = self._ledger.save(replace(record, state=State.SENDING))
        request = Request("send the email", "POST", "drafts/send", body={"id": record.draft_id})
        try:
            message = await self._within_deadline(request)
            return self._note_sent(record, str(message.get("id", "")), str(message.get("threadId", "")))
        except AnswerLostError as lost:
            return await self._settle(record, lost.reason)
        except Fault as fault:
            if fault.kind is FaultKind.NOT_FOUND:  # the draft is gone: somebody sent or deleted it
                return await self._settle(record, "the draft is gone")
            self._ledger.save(replace(record, state=State.DRAFTED))
            raise _with_ids(fault, record) from fault

    async def _make_draft(self, record: SendRecord, content: Content) -> SendRecord:
        try:
            draft = await self._draft(content, record.mark)
        except AnswerLostError as lost:
            raise _with_ids(_draft_lost(lost), record) from lost
        except Fault as fault:
            raise _with_ids(fault, record) from fault
        message = draft.get("message") or {}
        drafted = replace(
            record,
            state=State.DRAFTED,
            draft_id=str(draft["id"]),
            draft_message_id=str(message.get("id", "")),
            thread_id=str(message.get("threadId", "")),
        )
        return self._ledger.save(drafted)

    async def _settle(
        self, record: SendRecord, reason: str = "", *, must_be_known: bool = False
    ) -> SendRecord:
        """Sent, or a fault that says which. `must_be_known`: a draft that is still there may go on."""
        fate = await find_fate(self._rest, record, self._deadline_seconds)
        if fate.state == "sent":
            return self._note_sent(record, fate.message_id, fate.thread_id)
        if fate.state == "unknown":
            raise _unknown(record, reason)
        drafted = self._ledger.save(replace(record, state=State.DRAFTED))
        if must_be_known:
            return drafted
        raise _not_sent(record, reason)

    def _note_sent(self, record: SendRecord, message_id: str, thread_id: str) -> SendRecord:
        sent_at = datetime.now(UTC).isoformat(timespec="seconds")
        return self._ledger.save(
            replace(
                record,
                state=State.SENT,
                message_id=message_id,
                thread_id=thread_id or record.thread_id,
                sent_at=sent_at,
            )
        )

    async def _draft(self, content: Content, mark: str) -> dict[str, Any]:
        original = None
        if content.thread:
            with within(self._deadline_seconds, "reading the message to answer"):
                original = await self._mailbox.get_original(content.thread)
        message = compose.compose(content, mark=mark, original=original)
        body: dict[str, Any] = {"raw": compose.encode(message)}
        if original is not None and original.thread_id:
            body["threadId"] = original.thread_id
        draft = await self._within_deadline(Request("make a draft", "POST", "drafts", body={"message": body}))
        if not draft.get("id"):
            raise AnswerLostError("Gmail's answer names no draft")
        return draft

    async def _within_deadline(self, request: Request) -> dict[str, Any]:
        try:
            with anyio.fail_after(self._deadline_seconds):
                return await self._rest.once(request)
        except TimeoutError as late:
            raise AnswerLostError(
                f"Gmail did not answer within {self._deadline_seconds:g} s", late=True
            ) from late


def read_content(asked: Letter) -> Content:
    return Content(
        to=asked.to,
        cc=asked.cc,
        bcc=asked.bcc,
        subject=asked.subject,
        body=asked.body,
        html=asked.html,
        thread=asked.reply_to_message_id or "",
    )


def _status(send_id: str, state: Any, record: SendRecord | None = None) -> SendStatus:  # noqa: ANN401 - one of the model's
    return SendStatus(
        send_id=send_id,
        state=state,
        message_id=record.message_id or None if record else None,
        thread_id=record.thread_id or None if record else None,
        draft_id=record.draft_id or None if record else None,
    )


def _with_ids(fault: Fault, record: SendRecord) -> Fault:
    """The same fault, which also says where the mail is now."""
    kept = "the draft is kept" if record.draft_id else "no mail left"
    return Fault(
        fault.kind,
        f"not sent: {fault.message}",
        hint=f"{fault.hint}; {kept}, and send_email with the same approval goes on from here",
        details=fault.details | {"send_id": record.send_id, "draft_id": record.draft_id or None},
        retry_after_seconds=fault.retry_after_seconds,
    )


def _draft_lost(lost: AnswerLostError) -> Fault:
    return Fault(
        FaultKind.TIMEOUT if lost.late else FaultKind.UPSTREAM_ERROR,
        f"Gmail did not confirm the draft: {lost.reason}",
        hint="no mail left; a draft may lie in the account twice after another try",
    )


def _not_sent(record: SendRecord, reason: str) -> Fault:
    return Fault(
        FaultKind.UPSTREAM_ERROR,
        f"not sent: {reason}; its draft is still in the account",
        hint="send_email with the same approval sends that very draft",
        details={"send_id": record.send_id, "draft_id": record.draft_id},
    )


def _unknown(record: SendRecord, reason: str) -> Fault:
    why = f"{reason}, and " if reason else ""
    return Fault(
        FaultKind.OUTCOME_UNKNOWN,
        f"the mail may have left: {why}neither its draft nor a sent copy could be found",
        hint=f"ask get_send_status for send id {record.send_id}; do not send it again before that",
        details={"send_id": record.send_id, "draft_id": record.draft_id},
    )
