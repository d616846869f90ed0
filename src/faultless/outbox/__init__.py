"""Approved drafts leave through the Gmail server: exactly what a person approved, at most once."""

from faultless.outbox.approving import ApprovalDesk, list_entries
from faultless.outbox.journal import Entry, OutboxJournal, State, exclude_others, locate_state
from faultless.outbox.letter import Note, read_letter
from faultless.outbox.machine import Machine
from faultless.outbox.processing import Outbox, Pass
from faultless.outbox.servers import Mailer, Vault

__all__ = [
    "ApprovalDesk",
    "Entry",
    "Machine",
    "Mailer",
    "Note",
    "Outbox",
    "OutboxJournal",
    "Pass",
    "State",
    "Vault",
    "exclude_others",
    "list_entries",
    "locate_state",
    "read_letter",
]
