"""Sending at most once: a draft first, then that draft; where the answer is lost, its delivery is looked up.

send -> _send -> _resume        where an earlier attempt stopped, if there was one
              -> _advance       the draft, then the one request that sends it
                 -> _record_sent       it left
                 -> _resolve_unknown   the answer was lost: it left, its draft is still there, or nobody knows
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import anyio

from faultless.approval import ApprovalStore, Content, SendRecord, SendState, approval_required
from faultless.contract import Fault, FaultKind
from faultless.kit import log
from faultless.servers.gmail import faults
from faultless.servers.gmail.audit import SENT, AuditJournal
from faultless.servers.gmail.compose import compose, list_recipients
from faultless.servers.gmail.delivery import get_draft, look_up_delivery
from faultless.servers.gmail.faults import AnswerLostError
from faultless.servers.gmail.outputs import AttachedFile, DraftCreated, Sendable, SendStatus, Sent
from faultless.servers.gmail.rest import Request, within

if TYPE_CHECKING:
    from faultless.servers.gmail.inputs import Letter, SendEmail
    from faultless.servers.gmail.mailbox import Mailbox
    from faultless.servers.gmail.rest import Rest
    from faultless.servers.gmail.settings import Settings

_LARGEST_IN_JSON_BYTES = 1_000_000
_GONE = "the draft is gone"


@dataclass(frozen=True, slots=True)
class _Mail:
    """A composed mail on its way into a request."""

    data: bytes
    thread_id: str

    def carry(self, what: str, path: str, **fields: str) -> Request:
        """Inside the JSON while it is small; Gmail takes more only beside it."""
        message = {"threadId": self.thread_id} if self.thread_id else {}
        if len(self.data) > _LARGEST_IN_JSON_BYTES:
            return Request(what, "POST", path, body={**fields, "message": message}, media=self.data)
        raw = base64.urlsafe_b64encode(self.data).decode()
        return Request(what, "POST", path, body={**fields, "message": {**message, "raw": raw}})


class Sender:
    """Drafts and sends for one account."""

    def __init__(self, rest: Rest, mailbox: Mailbox, settings: Settings) -> None:
        self._rest = rest
        self._mailbox = mailbox
        self._settings = settings
        self._approvals = ApprovalStore(settings.state_folder)
        self._ledger = self._approvals.ledger
        self._audit = AuditJournal(settings.state_folder / "gmail", settings.max_sends_per_hour)

    async def create_draft(self, arguments: Letter) -> DraftCreated:
        content = self._read_content(arguments)
        self._settings.require_recipients(list_recipients(content.to, content.cc, content.bcc))
        try:
            draft = await self._draft(await self._compose(content, secrets.token_hex(16)))
        except AnswerLostError as lost:
            raise faults.draft_lost(lost) from lost
        message = draft["message"]
        return DraftCreated(
            draft_id=draft["id"], message_id=message["id"], thread_id=str(message.get("threadId", ""))
        )

    def check(self, arguments: Letter) -> Sendable:
        """What sending would refuse without asking Gmail is refused here, in the same words."""
        content = self._read_content(arguments)
        recipients = list_recipients(content.to, content.cc, content.bcc)
        self._settings.require_recipients(recipients)
        attached = [
            AttachedFile(path=it.path, mime_type=it.mime_type, size_bytes=it.size_bytes, sha256=it.sha256)
            for it in content.attachments
        ]
        size_bytes = len(compose(content, mark="0" * 32))
        return Sendable(recipients=recipients, size_bytes=size_bytes, attachments=attached)

    async def send(self, arguments: SendEmail) -> Sent:
        """The audit journal sees every attempt, refused ones too."""
        content = self._read_content(arguments)
        send_id = arguments.approval_id or secrets.token_hex(16)
        recipients = list_recipients(content.to, content.cc, content.bcc)
        attempt_id = self._audit.begin(
            send_id=send_id,
            approved=arguments.approval_id is not None,
            recipients=list(recipients),
            content=content.digest(),
        )
        outcome = "interrupted"
        try:
            self._settings.require_recipients(recipients)
            self._require_approval(arguments.approval_id, content)
            # From here on a cancelled call would leave a mail of which nobody knows whether it left.
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
            if not self._ledger.has(send_id):
                self._require_approved(send_id)
                return _status(send_id, "unknown")
            record = self._ledger.load(send_id)
            if record.state in {SendState.SENT, SendState.VOID}:
                return _status(send_id, record.state.value, record)
            if not record.draft_id:
                return _status(send_id, "not_sent", record)
            delivery = await look_up_delivery(self._rest, record, self._settings.timeout_seconds)
            if delivery.state == "sent":
                record = self._record_sent(record, delivery.message_id, delivery.thread_id)
            return _status(send_id, "void" if delivery.state == "changed" else delivery.state, record)

    def _require_approval(self, approval_id: str | None, content: Content) -> None:
        if approval_id is not None:
            self._approvals.check(approval_id, content)
        elif not self._settings.send_without_approval:
            raise approval_required("a person must approve this mail before it leaves", "none")

    def _require_approved(self, send_id: str) -> None:
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
            if record.state is not SendState.SENT:
                record = await self._advance(record, content)
            return Sent(
                message_id=record.message_id,
                thread_id=record.thread_id,
                sent_at=record.sent_at,
                send_id=send_id,
            )

    async def _resume(self, send_id: str, content: Content) -> SendRecord:
        """Where an earlier attempt left off, if there was one. An approval has a record from the start."""
        if not self._approvals.has(send_id) and not self._ledger.has(send_id):
            return self._ledger.claim(send_id, content.digest())
        record = self._ledger.load(send_id)
        if record.state is SendState.VOID:
            raise approval_required("a person found that this mail did not leave; approve it anew", "void")
        if record.state is SendState.SENT or not record.draft_id:
            return record
        return await self._resolve_unknown(record)

    async def _advance(self, record: SendRecord, content: Content) -> SendRecord:
        mail = await self._compose(content, record.mark, record)
        if not record.draft_id:
            record = await self._make_draft(record, mail)
        if await self._is_gone(record):  # somebody sent or deleted it
            return self._require_sent(await self._resolve_unknown(record, _GONE), _GONE)
        record = self._ledger.save(replace(record, state=SendState.SENDING))
        # With its text, which takes the place of what stands there: nothing slips in after the comparison.
        try:
            sent = await self._ask_once(mail.carry("send the email", "drafts/send", id=record.draft_id))
            return self._record_sent(record, _read_id(sent), str(sent.get("threadId") or ""))
        except AnswerLostError as lost:
            reason = lost.reason
        except Fault as fault:
            if fault.kind is not FaultKind.NOT_FOUND:
                self._ledger.save(replace(record, state=SendState.DRAFTED))
                raise faults.add_send_ids(fault, record) from fault
            reason = _GONE
        return self._require_sent(await self._resolve_unknown(record, reason), reason)

    async def _is_gone(self, record: SendRecord) -> bool:
        """Whether the draft is; one that was changed since we made it is approval_required."""
        try:
            with within(self._settings.timeout_seconds, "comparing the draft"):
                found = await get_draft(self._rest, record)
        except Fault as fault:
            raise faults.add_send_ids(fault, record) from fault
        if found is not None and found != record.draft_message_id:
            raise faults.draft_changed(record)
        return found is None

    @staticmethod
    def _require_sent(record: SendRecord, reason: str) -> SendRecord:
        if record.state is not SendState.SENT:
            raise faults.not_sent(record, reason)
        return record

    async def _make_draft(self, record: SendRecord, mail: _Mail) -> SendRecord:
        try:
            draft = await self._draft(mail)
        except AnswerLostError as lost:
            raise faults.add_send_ids(faults.draft_lost(lost), record) from lost
        except Fault as fault:
            raise faults.add_send_ids(fault, record) from fault
        made = draft["message"]
        drafted = replace(
            record,
            state=SendState.DRAFTED,
            draft_id=draft["id"],
            draft_message_id=made["id"],
            thread_id=str(made.get("threadId", "")),
        )
        return self._ledger.save(drafted)

    async def _resolve_unknown(self, record: SendRecord, reason: str = "") -> SendRecord:
        """The record as sent, or as drafted where it did not leave; outcome_unknown where nobody can tell."""
        delivery = await look_up_delivery(self._rest, record, self._settings.timeout_seconds)
        if delivery.state == "sent":
            return self._record_sent(record, delivery.message_id, delivery.thread_id)
        if delivery.state == "unknown":
            raise faults.outcome_unknown(record, reason)
        if delivery.state == "changed":
            raise faults.draft_changed(record)
        return self._ledger.save(replace(record, state=SendState.DRAFTED))

    def _record_sent(self, record: SendRecord, message_id: str, thread_id: str) -> SendRecord:
        sent = replace(
            record,
            state=SendState.SENT,
            message_id=message_id,
            thread_id=thread_id or record.thread_id,
            sent_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        try:
            return self._ledger.save(sent)
        except Fault as fault:  # it left all the same; the record still says to look it up
            log.error("a mail left and its record could not be written", reason=fault.message)
            return sent

    async def _compose(self, content: Content, mark: str, record: SendRecord | None = None) -> _Mail:
        original = None
        if content.thread:
            try:
                with within(self._settings.timeout_seconds, "reading the message to answer"):
                    original = await self._mailbox.get_original(content.thread)
            except Fault as fault:
                raise (faults.add_send_ids(fault, record) if record else fault) from fault
        return _Mail(
            compose(content, mark=mark, original=original), original.thread_id if original is not None else ""
        )

    async def _draft(self, mail: _Mail) -> dict[str, Any]:
        draft = await self._ask_once(mail.carry("make a draft", "drafts"))
        _read_id(draft)
        _read_id(draft.get("message"))
        return draft

    def _read_content(self, arguments: Letter) -> Content:
        return Content(
            to=arguments.to,
            cc=arguments.cc,
            bcc=arguments.bcc,
            subject=arguments.subject,
            body=arguments.body,
            html=arguments.html,
            thread=arguments.reply_to_message_id or "",
            attachments=self._settings.read_attachments(arguments.attachments),
        )

    async def _ask_once(self, request: Request) -> dict[str, Any]:
        try:
            with anyio.fail_after(self._settings.timeout_seconds):
                return await self._rest.once(request)
        except TimeoutError as late:
            raise AnswerLostError(
                f"Gmail did not answer within {self._settings.timeout_seconds:g} s", FaultKind.TIMEOUT
            ) from late


def _read_id(answer: object) -> str:
    """A success that does not name what was made is no answer."""
    found = answer.get("id") if isinstance(answer, dict) else None
    if not isinstance(found, str) or not found:
        raise AnswerLostError("Gmail's answer names nothing that was made")
    return found


def _status(send_id: str, state: Any, record: SendRecord | None = None) -> SendStatus:  # noqa: ANN401 - one of the model's
    return SendStatus(
        send_id=send_id,
        state=state,
        message_id=record.message_id or None if record else None,
        thread_id=record.thread_id or None if record else None,
        draft_id=record.draft_id or None if record else None,
    )
