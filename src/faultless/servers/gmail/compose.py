"""Writing a mail that threads for its recipient and carries nothing that was not asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import getaddresses
from typing import TYPE_CHECKING

import idna

from faultless.approval import LARGEST_MAIL_BYTES
from faultless.contract import Fault, FaultKind, clean

if TYPE_CHECKING:
    from faultless.approval import Attachment, Content

MARK = "X-Faultless-Send"
"""Carries the id of the send attempt, so that the message can be recognised among those that left."""
_MOST_RECIPIENTS = 100
_MOST_REFERENCES = 50
_LONGEST_ADDRESS = 254
_LONGEST_QUOTED = 80
_LONGEST_LINE_BYTES = 900
"""Below SMTP's limit, which is about 1000."""
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")
_REPLY = re.compile(r"^\s*re(\[\d+\])?\s*:", re.IGNORECASE)
_MESSAGE_ID = re.compile(r"<[^<>\s]+>")


def check_line(text: str) -> str:
    """A header's text: one line, or a header of the sender's choosing could be smuggled in."""
    if _CONTROL.search(text):
        raise ValueError("must be one line without control characters")
    if any("\ud800" <= mark <= "\udfff" for mark in text):
        raise ValueError("must be valid Unicode")
    return text


def check_addresses(text: str) -> str:
    """Addresses separated by commas; empty is for the caller to judge."""
    check_line(text)
    if text:
        _parse_addresses(text)
    return text


def check_some_addresses(text: str) -> str:
    check_addresses(text)
    if not text:
        raise ValueError("names no recipient")
    return text


def _parse_addresses(text: str) -> list[tuple[str, str]]:
    """Pairs of name and address, the domain in ASCII; ValueError says what is wrong with which."""
    pairs = getaddresses([text]) if text else []
    if len(pairs) > _MOST_RECIPIENTS:
        raise ValueError(f"names more than {_MOST_RECIPIENTS} recipients")
    return [(name, _check_address(address, text)) for name, address in pairs]


def _check_address(address: str, text: str) -> str:
    local, at, domain = address.rpartition("@")
    if at and local and not local.isascii():
        raise ValueError(
            f"{_quote(address)} has letters before the @ that only some mail systems take (SMTPUTF8)"
        )
    if not at or not _LOCAL.fullmatch(local):
        raise ValueError(f"{_quote(address or text)} is not a mail address")
    try:
        # As browsers do it: the standard library's codec would write to fass.de for faß.de.
        ascii_domain = domain if domain.isascii() else idna.encode(domain, uts46=True).decode()
    except UnicodeError:
        ascii_domain = ""
    labels = ascii_domain.split(".")
    if len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels):  # noqa: PLR2004 - a name and its top
        raise ValueError(f"{_quote(address)} has no valid domain")
    if len(local) + 1 + len(ascii_domain) > _LONGEST_ADDRESS:
        raise ValueError(f"an address is longer than {_LONGEST_ADDRESS} characters")
    return f"{local}@{ascii_domain}"


def _quote(address: str) -> str:
    return repr(clean(address, _LONGEST_QUOTED))


def list_recipients(*fields: str) -> list[str]:
    """Every address in these headers, without names."""
    return [address for text in fields for _, address in _parse_addresses(text)]


@dataclass(frozen=True, slots=True)
class Original:
    """The message that is answered."""

    thread_id: str
    message_id: str
    """RFC 5322 Message-ID, angle brackets and all; not Gmail's id."""
    references: str
    subject: str


def compose(content: Content, *, mark: str, original: Original | None = None) -> bytes:
    """The same bytes for the same content and mark. From is left out: Gmail writes the account's own."""
    message = EmailMessage(policy=SMTP)
    for header, text in (("To", content.to), ("Cc", content.cc), ("Bcc", content.bcc)):
        if text:
            message[header] = [
                Address(display_name=name, addr_spec=address) for name, address in _parse_addresses(text)
            ]
    message["Subject"] = _choose_subject(content.subject, original)
    if original is not None and original.message_id:
        message["In-Reply-To"] = original.message_id
        message["References"] = _chain(original)
    message[MARK] = mark
    # Lines over SMTP's limit and bare carriage returns would be changed on the way.
    is_fragile = "\r" in content.body or any(
        len(line.encode()) > _LONGEST_LINE_BYTES for line in content.body.split("\n")
    )
    message.set_content(content.body, cte="base64" if is_fragile else None)
    if content.html:
        message.add_alternative(content.html, subtype="html")
    for it in content.attachments:
        _attach(message, it)
    return _write(message, mark)


def _attach(message: EmailMessage, attachment: Attachment) -> None:
    main, _, sub = attachment.mime_type.partition("/")
    try:
        is_utf8 = main == "text" and bool(attachment.data.decode())
    except UnicodeDecodeError:
        is_utf8 = False
    message.add_attachment(
        attachment.data,
        maintype=main,
        subtype=sub,
        filename=attachment.name,
        params={"charset": "utf-8"} if is_utf8 else None,
    )


def _write(message: EmailMessage, mark: str) -> bytes:
    """The library would choose other boundaries each time; the mark is as good as any it could choose."""
    for number, part in enumerate(it for it in message.walk() if it.is_multipart()):
        part.set_boundary(f"={number}={mark}=")
    data = message.as_bytes()
    if len(data) > LARGEST_MAIL_BYTES:
        raise Fault(
            FaultKind.TOO_LARGE,
            f"the mail has {len(data)} bytes, and {LARGEST_MAIL_BYTES} may leave",
            hint="send a link to a file, or smaller files; base64 makes each a third larger",
            details={"size_bytes": len(data), "limit_bytes": LARGEST_MAIL_BYTES},
        )
    return data


def _chain(original: Original) -> str:
    """The original's references and then itself; of too many the first and the latest survive."""
    earlier = [it for it in _MESSAGE_ID.findall(original.references) if it != original.message_id]
    if len(earlier) >= _MOST_REFERENCES:
        earlier = [earlier[0], *earlier[2 - _MOST_REFERENCES :]]
    return " ".join([*earlier, original.message_id])


def _choose_subject(subject: str, original: Original | None) -> str:
    """`Re:` once. The subject as approved, unless it is empty; then the original's."""
    if original is None:
        return subject
    chosen = subject or original.subject
    return chosen if _REPLY.match(chosen) else f"Re: {chosen}"
