"""What a person approved: the hash of one mail, by whom, until when."""

from faultless.approval.attachment import LARGEST_MAIL_BYTES, Attachment, read_attachments
from faultless.approval.ledger import SendLedger, SendRecord, SendState
from faultless.approval.store import (
    DEFAULT_LIFETIME,
    Approval,
    ApprovalStore,
    Content,
    approval_required,
    default_state_folder,
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
    "default_state_folder",
    "read_attachments",
]
