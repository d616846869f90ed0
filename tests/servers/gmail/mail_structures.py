"""Messages as they come in real life: what is inside, and what a reader must see."""

from __future__ import annotations

import base64
import quopri
from dataclasses import dataclass

HEAD = b"From: Ann <ann@example.com>\r\nTo: me@example.org\r\nSubject: Hi\r\nMIME-Version: 1.0\r\n"


@dataclass(frozen=True)
class Mail:
    raw: bytes
    shows: tuple[str, ...]
    hides: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()


def leaf(kind: str, content: bytes | str, *headers: str, encoding: str = "8bit") -> bytes:
    data = content.encode() if isinstance(content, str) else content
    if encoding == "base64":
        data = base64.encodebytes(data)
    if encoding == "quoted-printable":
        data = quopri.encodestring(data)
    lines = [f"Content-Type: {kind}", f"Content-Transfer-Encoding: {encoding}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def several(kind: str, *children: bytes, boundary: str = "b0") -> bytes:
    body = b"".join(b"--" + boundary.encode() + b"\r\n" + child + b"\r\n" for child in children)
    return (
        f'Content-Type: multipart/{kind}; boundary="{boundary}"\r\n\r\n'.encode()
        + body
        + b"--"
        + boundary.encode()
        + b"--\r\n"
    )


def mail(content: bytes, *shows: str, hides: tuple[str, ...] = (), attachments: tuple[str, ...] = ()) -> Mail:
    return Mail(HEAD + content, shows, hides, attachments)


PLAIN = leaf("text/plain; charset=utf-8", "the plain text")
HTML = leaf("text/html; charset=utf-8", "<html><body><p>the <b>rich</b> text</p></body></html>")
IMAGE = leaf("image/png", b"\x89PNG", "Content-ID: <i1>", encoding="base64")
PDF = leaf("application/pdf", b"%PDF", 'Content-Disposition: attachment; filename="a.pdf"', encoding="base64")
RELATED = several("related", HTML, IMAGE, boundary="b1")
ALTERNATIVE = several("alternative", PLAIN, HTML, boundary="b2")
FORWARDED = (
    b"Content-Type: message/rfc822\r\n\r\n"
    + HEAD.replace(b"Hi", b"Inner")
    + leaf("text/plain", "the inner text")
)

STRUCTURES: dict[str, Mail] = {
    "plain": mail(PLAIN, "the plain text"),
    "no headers about content": Mail(HEAD + b"\r\nthe plain text", ("the plain text",)),
    "html only": mail(HTML, "the rich text", hides=("<b>",)),
    "alternative": mail(ALTERNATIVE, "the plain text", hides=("rich",)),
    "alternative with html first": mail(several("alternative", HTML, PLAIN), "the plain text"),
    "alternative with blank plain": mail(
        several("alternative", leaf("text/plain", " \r\n"), HTML), "the rich text"
    ),
    "alternative of html alone": mail(several("alternative", HTML), "the rich text"),
    "alternative with related html": mail(
        several("alternative", leaf("text/plain", ""), RELATED), "the rich text", attachments=("part 1.1",)
    ),
    "alternative with calendar": mail(
        several("alternative", PLAIN, HTML, leaf("text/calendar", "BEGIN:VCALENDAR")),
        "the plain text",
        hides=("VCALENDAR",),
    ),
    "calendar alone": mail(leaf("text/calendar; charset=utf-8", "BEGIN:VCALENDAR"), "BEGIN:VCALENDAR"),
    "related": mail(RELATED, "the rich text", attachments=("part 1",)),
    "mixed with attachment": mail(several("mixed", PLAIN, PDF), "the plain text", attachments=("a.pdf",)),
    "mixed, alternative inside": mail(
        several("mixed", ALTERNATIVE, PDF), "the plain text", attachments=("a.pdf",)
    ),
    "mixed, related, alternative": mail(
        several("mixed", several("related", ALTERNATIVE, IMAGE, boundary="b3"), PDF),
        "the plain text",
        attachments=("part 0.1", "a.pdf"),
    ),
    "two texts around an attachment": mail(
        several("mixed", PLAIN, PDF, leaf("text/plain", "the footer")),
        "the plain text",
        "the footer",
        attachments=("a.pdf",),
    ),
    "text attached beside text": mail(
        several(
            "mixed", PLAIN, leaf("text/plain", "the log", 'Content-Disposition: attachment; filename="x.log"')
        ),
        "the plain text",
        hides=("the log",),
        attachments=("x.log",),
    ),
    "text attached and nothing else": mail(
        several("mixed", leaf("text/plain", "the log", 'Content-Disposition: attachment; filename="x.log"')),
        "the log",
        attachments=("x.log",),
    ),
    "inline text without a name": mail(
        several("mixed", leaf("text/plain", "inline", "Content-Disposition: inline")), "inline"
    ),
    "forwarded message": mail(
        several("mixed", PLAIN, FORWARDED),
        "the plain text",
        "Forwarded message",
        "Subject: Inner",
        "the inner text",
    ),
    "forwarded message alone": mail(FORWARDED, "the inner text"),
    "forwarded as attachment only": mail(
        several(
            "mixed",
            FORWARDED.replace(
                b"message/rfc822", b'message/rfc822\r\nContent-Disposition: attachment; filename="f.eml"'
            ),
        ),
        "the inner text",
        attachments=("f.eml",),
    ),
    "digest": mail(several("digest", FORWARDED, FORWARDED), "the inner text"),
    "signed": mail(
        several(
            "signed",
            PLAIN,
            leaf(
                "application/pgp-signature", "-----BEGIN", 'Content-Disposition: attachment; filename="s.asc"'
            ),
        ),
        "the plain text",
        attachments=("s.asc",),
    ),
    "signed, html inside": mail(
        several("signed", ALTERNATIVE, leaf("application/pkcs7-signature", b"x", encoding="base64")),
        "the plain text",
        attachments=("part 1",),
    ),
    "bounce": mail(
        several(
            "report",
            leaf("text/plain", "could not be delivered"),
            leaf("message/delivery-status", "Status: 5.1.1\r\n\r\nAction: failed"),
            FORWARDED,
        ),
        "could not be delivered",
    ),
    "bounce without words": mail(
        several("report", leaf("text/rfc822-headers", "Subject: lost")), "Subject: lost"
    ),
    "five levels deep": mail(
        several(
            "mixed",
            several(
                "mixed",
                several("mixed", several("mixed", ALTERNATIVE, boundary="d3"), boundary="d2"),
                boundary="d1",
            ),
            boundary="d0",
        ),
        "the plain text",
    ),
    "empty parts around": mail(
        several("mixed", leaf("text/plain", ""), ALTERNATIVE, leaf("text/plain", "\r\n")), "the plain text"
    ),
    "unknown multipart": mail(several("x-odd", PLAIN, HTML), "the plain text"),
    "unknown text": mail(leaf("text/x-markdown", "# the title"), "# the title"),
    "base64 body": mail(
        leaf("text/plain; charset=utf-8", "grüße aus köln", encoding="base64"), "grüße aus köln"
    ),
    "quoted-printable body": mail(
        leaf("text/plain; charset=utf-8", "grüße", encoding="quoted-printable"), "grüße"
    ),
    "latin-1": mail(leaf("text/plain; charset=iso-8859-1", "grüße".encode("latin-1")), "grüße"),
    "windows quotes called latin-1": mail(
        leaf("text/plain; charset=iso-8859-1", "“quoted”".encode("cp1252")), "“quoted”"
    ),
    "utf-8 called latin-1": mail(leaf("text/plain; charset=iso-8859-1", "grüße"), "grüße"),
    "utf-8 called ascii": mail(leaf("text/plain; charset=us-ascii", "grüße"), "grüße"),
    "unknown charset": mail(leaf("text/plain; charset=x-unknown", "grüße"), "grüße"),
    "no charset, latin-1": mail(leaf("text/plain", "grüße".encode("latin-1")), "grüße"),
    "iso-2022-jp": mail(
        leaf("text/plain; charset=iso-2022-jp", "こんにちは".encode("iso-2022-jp"), encoding="base64"),
        "こんにちは",
    ),
    "shift_jis": mail(
        leaf("text/plain; charset=shift_jis", "①こんにちは".encode("cp932"), encoding="base64"), "①こんにちは"
    ),
    "gb2312": mail(
        leaf("text/plain; charset=gb2312", "你好镕".encode("gb18030"), encoding="base64"), "你好镕"
    ),
    "big5 html": mail(
        leaf("text/html; charset=big5", "<p>你好</p>".encode("big5"), encoding="base64"), "你好"
    ),
    "koi8-r": mail(
        leaf("text/plain; charset=koi8-r", "привет".encode("koi8-r"), encoding="base64"), "привет"
    ),
    "korean": mail(
        leaf("text/plain; charset=ks_c_5601-1987", "안녕".encode("cp949"), encoding="base64"), "안녕"
    ),
    "utf-16": mail(leaf("text/plain; charset=utf-16", "wide".encode("utf-16"), encoding="base64"), "wide"),
    "utf-7": mail(leaf("text/plain; charset=utf-7", "+APw-ber", encoding="7bit"), "über"),
    "quoted charset": mail(leaf('text/plain; charset="UTF-8"; format=flowed', "grüße"), "grüße"),
    "a codec that is no charset": mail(leaf("text/plain; charset=rot13", "uryyb"), "uryyb"),
    "html newsletter": mail(
        leaf(
            "text/html; charset=utf-8",
            "<html><head><title>no</title><style>p{}</style></head><body><div style='display:none'>preview</div>"
            "<table><tr><td>Buy</td><td>now</td></tr></table><a href='https://example.com/x'>here</a>"
            "<ul><li>one<li>two</ul><img alt='Logo'><script>no()</script></body></html>",
        ),
        "Buy now",
        "here (https://example.com/x)",
        "- one\n- two",
        "[Logo]",
        hides=("preview", "no()", "p{}"),
    ),
    "html that is all hidden": mail(
        leaf("text/html", "<div style='display:none'>only this</div>"), "only this"
    ),
    "html with an open head": mail(leaf("text/html", "<html><head><body><p>seen"), "seen"),
    "broken html": mail(leaf("text/html", "<p>one<p>two</b></div><a href=x"), "one", "two"),
    "preformatted html": mail(leaf("text/html", "<pre>a\n  b</pre>"), "a\nb"),
    "boundary that never closes": mail(several("mixed", PLAIN).replace(b"--b0--", b""), "the plain text"),
    "name in rfc 2231": mail(
        several(
            "mixed",
            PLAIN,
            leaf(
                "application/pdf",
                b"%PDF",
                "Content-Disposition: attachment; filename*=utf-8''gr%C3%BC%C3%9Fe.pdf",
                encoding="base64",
            ),
        ),
        "the plain text",
        attachments=("grüße.pdf",),
    ),
    "name in encoded words": mail(
        several(
            "mixed",
            PLAIN,
            leaf(
                "application/pdf",
                b"%PDF",
                'Content-Disposition: attachment; filename="=?utf-8?q?gr=C3=BC=C3=9Fe.pdf?="',
                encoding="base64",
            ),
        ),
        "the plain text",
        attachments=("grüße.pdf",),
    ),
}
