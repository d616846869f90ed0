"""What a person approved: the hash of one mail, by whom, until when."""

from faultless.approval.content import Content
from faultless.approval.store import Approval, ApprovalStore, default_state_folder

__all__ = ["Approval", "ApprovalStore", "Content", "default_state_folder"]
