"""What pytest printed, without what an answer says in fields of its own."""

from __future__ import annotations

import re

_COUNT = r"\d+ (?:passed|failed|skipped|xfailed|errors?|deselected)"
_COUNTS = re.compile(rf"(?:no tests ran|{_COUNT}(?:, {_COUNT})*) in [\d.]+s(?: \([\d:]+\))?")
_DECORATION = re.compile(r"=+ (?P<title>.+) =+|(?P<fill>[_!-])(?P=fill){2,} (?P<name>.+) (?P=fill){3,}")
_LINE_AT_MOST = 2000  # of what is looked at closely: lines of pytest's own are shorter
_MANUAL = "-- Docs: https://docs.pytest.org/"

_HEADER = "test session starts"
_COLLECTED = re.compile(r"(?:collecting \.\.\. ?)?(?:collected \d+ items?.*)?")
_STOPPED = re.compile(r"Interrupted: \d+ errors? during collection|stopping after \d+ failures?")
_WORDS = r"(?:PASSED|FAILED|SKIPPED|XFAIL|XPASS|ERROR|RERUN)"
_PROGRESS = re.compile(
    r"\S+\.py [.FEsxXRu]*(?: +\[ *\d+%\])?"
    r"|\S+::\S+ "
    rf"|\S.*::.* {_WORDS}(?: \(.*\))?(?: +\[ *\d+%\])?"
    rf"|\[gw\d+\] \[ *\d+%\] {_WORDS} .*"
)

_SKIPPED = r"Skipping \d+ identical \w+ characters in diff"
_HIDDEN = rf"Omitting \d+ identical items|{_SKIPPED}|\.\.\.Full output truncated.*"
_ADVICE = re.compile(
    rf"^((?:E +)? *(?:(?:{_HIDDEN}), use |Use |\(\d+ durations .{{0,40}}hidden\. +Use ))'?-(vv?)'?"
    r"(?= to (?:show|get (?:more|the full) diff)|  ?to show these)",
    re.MULTILINE,
)


def leave_out_counts(text: str) -> str:
    """The end of a run: its sections under plain titles, without the line of counts that `summary` holds.

    A line that counts more than outcomes (warnings, unexpected passes, reruns) stays.
    """
    lines = [_take_off_decoration(line) for line in text.split("\n")]
    kept = [line for line in lines if not _COUNTS.fullmatch(line) and not line.startswith(_MANUAL)]
    return "\n".join(kept).strip("\n")


def leave_out_progress(text: str) -> str:
    """Without the lines that only name a test and its outcome: each has a row."""
    return "\n".join(line for line in text.split("\n") if not _is_one_of(line, _PROGRESS))


def leave_out_session(text: str) -> str:
    """Only what is not pytest's own frame around a run: not its header, its progress, its counts."""
    lines = [_take_off_decoration(line) for line in text.split("\n")]
    if _HEADER in lines:
        start = lines.index(_HEADER)
        ends = (number for number in range(start, len(lines)) if lines[number].startswith("collect"))
        lines[start : next(ends, start + 1)] = []
    kept = [line for line in lines if not _is_one_of(line, _COLLECTED, _COUNTS, _STOPPED, _PROGRESS)]
    return "\n".join(kept) if any(line.strip() for line in kept) else ""


def _is_one_of(line: str, *patterns: re.Pattern[str]) -> bool:
    return len(line) <= _LINE_AT_MOST and any(pattern.fullmatch(line) for pattern in patterns)


def _take_off_decoration(line: str) -> str:
    decorated = _DECORATION.fullmatch(line)
    return decorated["title"] or decorated["name"] if decorated else line


def leave_out_message(text: str, message: str) -> str:
    """A traceback without the lines marked E that are its message, word for word; else as it was."""
    lines = text.split("\n")
    for wanted in (message, message.removeprefix("AssertionError: ")):
        said = wanted.split("\n")
        for start in range(len(lines) - len(said), -1, -1):
            mark = lines[start].removesuffix(said[0])
            if mark.rstrip(" ") == "E" and lines[start : start + len(said)] == [mark + line for line in said]:
                return "\n".join([*lines[:start], *lines[start + len(said) :]]).strip("\n")
    return "" if text == message else text


def leave_out_exception(traceback: str, exception: str) -> str:
    """A traceback as Python prints it, only its frames: not its title, nor the exception on its last line."""
    frames, _, last = traceback.removeprefix("Traceback (most recent call last):\n").rpartition("\n")
    return frames if frames and last.endswith(exception) else traceback


def leave_out_name(text: str, node_id: str) -> str:
    """A traceback whose first line does not say again which test it belongs to."""
    first, line_end, rest = text.partition("\n")
    name = node_id.partition("[")[0].rpartition("::")[2]
    return first.removesuffix(f": in {name}") + line_end + rest


def name_failure(text: str) -> str:
    """What is wrong, of a failure that pytest tells only as a text: the lines marked E, else the last one."""
    marked = [line[1:].strip() for line in text.split("\n") if line.startswith("E ")]
    return "\n".join(marked) or text.rstrip().rpartition("\n")[2]


def name_parameters(text: str) -> str:
    """Pytest's advice to use -v or -vv, in terms of this server's own parameter."""
    return _ADVICE.sub(lambda found: f"{found[1]}verbosity {len(found[2])}", text)
