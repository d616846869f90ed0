"""Writing a mail: one that threads for its recipient and carries nothing that was not asked for."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from typing import TYPE_CHECKING

from faultless.servers.gmail import addresses

if TYPE_CHECKING:
    from faultless.approval import Content

MARK = "X-Faultless-Send"
"""Carries the id of the send attempt, so that the message can be recognised among those that left."""
_REPLY = re.compile(r"^\s*re(\[\d+\])?\s*:", re.IGNORECASE)
_MESSAGE_ID = re.compile(r"<[^<>\s]+>")
MOST_REFERENCES = 50


@dataclass(frozen=True, slots=True)
class Original:
    """The message that is answered."""

    thread_id: str
    message_id: str
    """RFC 5322 Message-ID, angle brackets and all; not Gmail's id."""
    references: str
    subject: str


def compose(content: Content, *, mark: str, original: Original | None = None) -> EmailMessage:
    """From is left out: Gmail writes the account's own."""
    message = EmailMessage(policy=SMTP)
    for header, text in (("To", content.to), ("Cc", content.cc), ("Bcc", content.bcc)):
        if text:
            message[header] = [_address(pair) for pair in addresses.parse(text)]
    message["Subject"] = reply_subject(content.subject, original)
    if original is not None and original.message_id:
        message["In-Reply-To"] = original.message_id
        message["References"] = chain(original)
    message[MARK] = mark
    message.set_content(content.body, cte="base64" if _needs_base64(content.body) else None)
    if content.html:
        message.add_alternative(content.html, subtype="html")
    return message


def _address(pair: tuple[str, str]) -> Address:
    name, address = pair
    return Address(display_name=name, addr_spec=address)


def _needs_base64(text: str) -> bool:
    """Lines over SMTP's limit and bare carriage returns would be changed on the way."""
    return "\r" in text or any(len(line.encode()) > SMTP_LINE_BYTES for line in text.split("\n"))


SMTP_LINE_BYTES = 900


def chain(original: Original) -> str:
    """The original's references and then itself; of too many the first and the latest survive."""
    earlier = [it for it in _MESSAGE_ID.findall(original.references) if it != original.message_id]
    if len(earlier) >= MOST_REFERENCES:
        earlier = [earlier[0], *earlier[2 - MOST_REFERENCES :]]
    return " ".join([*earlier, original.message_id])


def reply_subject(subject: str, original: Original | None) -> str:
    """`Re:` once. The subject as approved, unless it is empty; then the original's."""
    if original is None:
        return subject
    chosen = subject or original.subject
    return chosen if _REPLY.match(chosen) else f"Re: {chosen}"


def encode(message: EmailMessage) -> str:
    return base64.urlsafe_b64encode(message.as_bytes()).decode()
