"""Text from strangers, made safe to put into a sentence."""

import re
from collections.abc import Iterable

_DEFAULT_LIMIT = 2000

_ESCAPE_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # window titles, hyperlinks
    r"|\x1b[@-Z\\^_]"
)
# Tags and direction marks hide text from the person and show it to the model, so they go too.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


def clean(text: str, limit: int = _DEFAULT_LIMIT) -> str:
    """Keep what prints, at most `limit` characters of it; the end says how much was left out.

    Cleaning twice is cleaning once.
    """
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    printable = replace_surrogates(_UNPRINTABLE.sub("", _ESCAPE_SEQUENCE.sub("", unified)))
    if len(printable) <= limit:
        return printable
    # The marker is measured with the whole length, so the true count never makes it longer.
    room = limit - len(_marker(len(printable)))
    if room <= 0:
        return "…"[: max(limit, 0)]
    return printable[:room] + _marker(len(printable) - room)


def _marker(left_out: int) -> str:
    return f"… [{left_out} characters left out]"


def replace_surrogates(text: str) -> str:
    """Make text that every encoder accepts."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def find_near(name: str, candidates: Iterable[str], *, most: int = 3, cutoff: float = 0.5) -> list[str]:
    """Names that somebody who wrote `name` may have meant, the likeliest first."""
    import difflib  # noqa: PLC0415 - for mistakes only

    return difflib.get_close_matches(name, list(candidates), n=most, cutoff=cutoff)


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """`, did you mean 'x'?`, or nothing."""
    near = find_near(name, candidates)
    return f", did you mean {' or '.join(repr(match) for match in near)}?" if near else ""


def last_line(text: str, otherwise: str = "") -> str:
    """Where a program that failed mostly says why."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), otherwise)
