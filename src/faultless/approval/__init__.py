"""What a person approved: the hash of one mail, by whom, until when."""

from faultless.approval.attachment import LARGEST_MAIL_BYTES, Attachment, read_attachments
from faultless.approval.ledger import SendLedger, SendRecord, SendState
from faultless.approval.store import (
    DEFAULT_LIFETIME,
    Approval,
    ApprovalStore,
    Content,
    approval_required,
    check_account,
    default_state_folder,
    locate_account,
)

__all__ = [
    "DEFAULT_LIFETIME",
    "LARGEST_MAIL_BYTES",
    "Approval",
    "ApprovalStore",
    "Attachment",
    "Content",
    "SendLedger",
    "SendRecord",
    "SendState",
    "approval_required",
    "check_account",
    "default_state_folder",
    "locate_account",
    "read_attachments",
]
