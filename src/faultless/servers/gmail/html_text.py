"""HTML mail as text: blocks are lines, links show where they lead, hidden text is left out."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

_SILENT = frozenset({"script", "style", "head", "title", "template", "noscript", "object", "svg"})
_VOID = frozenset({"br", "hr", "img", "meta", "link", "input", "col", "area", "base", "wbr", "source"})
_SPACED = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "table", "ul", "ol", "pre"})
_BLOCKS = _SPACED | {
    *(
        "address",
        "article",
        "aside",
        "body",
        "center",
        "dd",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figure",
        "footer",
    ),
    *("form", "header", "html", "li", "main", "nav", "section", "tbody", "tfoot", "thead", "tr"),
}
# Mail hides its preview line in many ways; a reader of the mail never sees it, so neither does the model.
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(px|pt|em|%)?\s*(;|$)|mso-hide\s*:\s*all"
    r"|opacity\s*:\s*0(\.0+)?\s*(;|$)",
    re.IGNORECASE,
)


def read_html(html: str) -> str:
    """Never raises; markup that is broken is read as far as it goes."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    text = reader.text()
    # A page that hides everything, or never closes its head, still has words in it.
    return text or _strip_tags(html)


def _strip_tags(html: str) -> str:
    bare = re.sub(r"(?is)<(script|style)\b.*?(</\1\s*>|$)|<[^>]*>", " ", html)
    return re.sub(r"\s+", " ", bare).strip()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._open: list[tuple[str, bool]] = []
        """Open elements, and whether each one silences what is in it."""
        self._count: Counter[str] = Counter()
        self._silences = 0
        self._links: list[tuple[str, int]] = []
        self._preformatted = 0

    def text(self) -> str:
        joined = "".join(self._pieces)
        lines = (re.sub(r"[ \t\u00a0]+", " ", line).strip() for line in joined.split("\n"))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "body" and self._count["head"]:  # a head that was never closed ends here
            self.handle_endtag("head")
        self._begin_line(tag)
        if tag in _VOID:
            self._write_void(tag, given)
            return
        is_silent = tag in _SILENT or _is_hidden(given)
        self._open.append((tag, is_silent))
        self._count[tag] += 1
        self._silences += is_silent
        if tag == "a":
            self._links.append((given.get("href", ""), len(self._pieces)))
        if tag == "li":
            self._write("- ")
        self._preformatted += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        while self._count[tag]:  # what was left open inside ends too
            name, was_silent = self._open.pop()
            self._count[name] -= 1
            self._silences -= was_silent
            self._end(name)
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        self._write(data if self._preformatted else re.sub(r"\s+", " ", data))

    def _begin_line(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._write("\n\n" if tag in _SPACED else "\n")

    def _end(self, tag: str) -> None:
        if tag == "a" and self._links:
            self._write_target(*self._links.pop())
        self._preformatted -= tag == "pre"
        if tag in {"td", "th"}:
            self._write(" ")
        self._begin_line(tag)

    def _write_void(self, tag: str, given: dict[str, str]) -> None:
        if tag == "br":
            self._write("\n")
        if tag == "hr":
            self._write("\n---\n")
        if tag == "img" and given.get("alt", "").strip():
            self._write(f"[{given['alt'].strip()}]")

    def _write_target(self, target: str, start: int) -> None:
        shown = "".join(self._pieces[start:]).strip()
        if re.match(r"https?://|mailto:", target, re.IGNORECASE) and shown and shown not in target:
            self._write(f" ({target})")

    def _write(self, text: str) -> None:
        if not self._silences:
            self._pieces.append(text)


def _is_hidden(given: dict[str, str]) -> bool:
    return "hidden" in given or _HIDDEN.search(given.get("style", "")) is not None
