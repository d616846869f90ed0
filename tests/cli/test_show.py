"""What a terminal cannot show is named, not hidden."""

from faultless.cli.show import render_attachments
from faultless.contract import Json


def test_blocks_that_are_no_text_are_told_with_kind_and_size() -> None:
    blocks: list[Json] = [
        {"type": "text", "text": "words"},
        {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="},
        {
            "type": "resource",
            "resource": {"uri": "tool://a", "mimeType": "application/zip", "blob": "aGVsbG8h"},
        },
        {"type": "resource_link", "uri": "file:///a"},
        {"type": "image", "mimeType": "a\x1b[31m", "data": ""},
    ]
    shown = [str(line) for line in render_attachments(blocks)]
    assert shown == [
        "[image/png, 5 bytes; --raw prints it]",
        "[application/zip, 6 bytes; --raw prints it]",
        "[resource_link; --raw prints it]",
        "[a; --raw prints it]",
    ]
