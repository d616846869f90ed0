"""Mail addresses as people write them, checked before anything leaves."""

from __future__ import annotations

import re
from email.utils import formataddr, getaddresses

MOST_RECIPIENTS = 100
_LONGEST = 254
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")


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
        parse(text)
    return text


def check_some_addresses(text: str) -> str:
    check_addresses(text)
    if not text:
        raise ValueError("names no recipient")
    return text


def parse(text: str) -> list[tuple[str, str]]:
    """Pairs of name and address, the domain in ASCII; ValueError says what is wrong with which."""
    pairs = getaddresses([text]) if text else []
    if len(pairs) > MOST_RECIPIENTS:
        raise ValueError(f"names more than {MOST_RECIPIENTS} recipients")
    return [(name, _check_address(address, text)) for name, address in pairs]


def _check_address(address: str, text: str) -> str:
    local, at, domain = address.rpartition("@")
    if not at or not _LOCAL.fullmatch(local):
        raise ValueError(f"{address or text!r} is not a mail address")
    try:
        ascii_domain = domain.encode("idna").decode()
    except UnicodeError:
        ascii_domain = ""
    labels = ascii_domain.split(".")
    if len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels):  # noqa: PLR2004 - a name and its top
        raise ValueError(f"{address!r} has no valid domain")
    if len(local) + 1 + len(ascii_domain) > _LONGEST:
        raise ValueError(f"an address is longer than {_LONGEST} characters")
    return f"{local}@{ascii_domain}"


def list_bare(*fields: str) -> list[str]:
    """Every address, without names."""
    return [address for text in fields for _, address in parse(text)]


def format_header(text: str) -> str:
    return ", ".join(formataddr(pair) for pair in parse(text))
