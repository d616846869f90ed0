"""Approved drafts leave through the Gmail server: exactly what a person approved, at most once."""

from faultless.outbox.approving import Desk
from faultless.outbox.exclusion import exclude_others, locate_state
from faultless.outbox.letter import Note, read_letter
from faultless.outbox.listing import list_entries
from faultless.outbox.mailer import Mailer
from faultless.outbox.processing import Outbox, Pass
from faultless.outbox.states import Entry, OutboxJournal, State
from faultless.outbox.vault import Vault

__all__ = [
    "Desk",
    "Entry",
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
