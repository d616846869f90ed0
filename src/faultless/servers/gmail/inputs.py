"""What the tools take. Texts are stripped, addresses checked, ids cannot be anything but ids."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from faultless.kit.toolset import Arguments
from faultless.servers.gmail.compose import check_addresses, check_line, check_some_addresses

_LONGEST_BODY = 2_000_000
_LONGEST_SUBJECT = 990
"""Below the limit of a header line, in the bytes SMTP counts."""

_GmailId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$", max_length=256)]
_Label = Annotated[str, Field(min_length=1, max_length=225), AfterValidator(check_line)]
_Recipients = Annotated[str, Field(max_length=20_000), AfterValidator(check_some_addresses)]
_MoreRecipients = Annotated[str, Field(max_length=20_000), AfterValidator(check_addresses)]
_Subject = Annotated[str, Field(max_length=_LONGEST_SUBJECT), AfterValidator(check_line)]
_Body = Annotated[str, Field(max_length=_LONGEST_BODY)]
_File = Annotated[str, Field(min_length=1, max_length=4000)]
_PageToken = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.~=+/-]+$", max_length=2000)]
_MaxResults = Annotated[int, Field(ge=1, le=100)]
_MaxBodyChars = Annotated[int, Field(ge=1, le=1_000_000)]


class _GmailArguments(Arguments):
    model_config = ConfigDict(str_strip_whitespace=True)


class HealthCheck(_GmailArguments):
    pass


class Letter(_GmailArguments):
    to: _Recipients
    """One or more addresses, separated by commas."""
    subject: _Subject
    body: _Body
    """Plain text."""
    cc: _MoreRecipients = ""
    bcc: _MoreRecipients = ""
    html: _Body = ""
    """The same as HTML, beside the plain text."""
    reply_to_message_id: _GmailId | None = None
    """Gmail's id of the message this answers; the reply joins its thread."""
    attachments: list[_File] = Field(default_factory=list, max_length=50)
    """Paths of files in the folder the server attaches from."""

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if not self.subject and self.reply_to_message_id is None:
            raise ValueError("subject may be empty in a reply only")
        if not (self.body or self.html or self.attachments):
            raise ValueError("body may be empty beside html or attachments only")
        return self


class SendEmail(Letter):
    approval_id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")] | None = None
    """From `faultless outbox approve`; holds for exactly this content, once."""


class CreateDraft(Letter):
    pass


class CheckEmail(Letter):
    pass


class GetSendStatus(_GmailArguments):
    send_id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
    """The approval id, or the send_id that a fault's details name."""


class ListEmails(_GmailArguments):
    query: Annotated[str, Field(max_length=2000)] = "is:unread"
    """As in Gmail's search box."""
    max_results: _MaxResults = 10
    page_token: _PageToken | None = None
    """next_page_token of the answer before."""


class GetEmail(_GmailArguments):
    message_id: _GmailId
    max_body_chars: _MaxBodyChars = 20_000
    """A longer body is cut, and says how much is missing."""


class GetThread(_GmailArguments):
    thread_id: _GmailId
    max_body_chars: _MaxBodyChars = 5_000
    """For each message."""
    max_messages: _MaxResults = 20


class ListDrafts(_GmailArguments):
    max_results: _MaxResults = 10
    page_token: _PageToken | None = None


class MoveEmail(_GmailArguments):
    message_id: _GmailId
    destination_label: _Label
    """A label's name; INBOX, SPAM and TRASH too, and ARCHIVE for out of the inbox."""


class AddLabel(_GmailArguments):
    message_id: _GmailId
    label_name: _Label
    """Made if there is none; a slash nests."""


class GetAttachment(_GmailArguments):
    message_id: _GmailId
    part_id: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,4}([.][0-9]{1,4}){0,49}$")]
    """From get_email."""
