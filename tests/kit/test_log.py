"""The log, seen from outside: what a real process leaves on its stderr."""

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

DEADLINE_SECONDS = 60


def run(code: str, environment: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The events that `code` logs; a line that is no JSON object fails the test."""
    finished = subprocess.run(
        [sys.executable, "-c", "from faultless.kit import log\n" + code],
        env=clean_environment(environment),
        capture_output=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr.decode()
    assert finished.stdout == b""
    return [json.loads(line) for line in finished.stderr.splitlines()]


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    ours = ("FAULTLESS_LOG_LEVEL", "OTEL_LOG_LEVEL", "NO_COLOR", "FORCE_COLOR")
    return {name: value for name, value in os.environ.items() if name not in ours} | dict(extra or {})


def run_in_terminal(code: str, environment: Mapping[str, str]) -> str:
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", "from faultless.kit import log\n" + code],
        env=clean_environment({"TERM": "xterm"} | dict(environment)),
        stderr=slave,
    ) as child:
        os.close(slave)
        child.wait(timeout=DEADLINE_SECONDS)
    ready, _, _ = select.select([master], [], [], DEADLINE_SECONDS)
    text = os.read(master, 65536).decode() if ready else ""
    os.close(master)
    return text


EVERY_LEVEL = "for speak in (log.trace, log.debug, log.info, log.warn, log.error, log.fatal): speak('x')"
NAMES = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"]


def test_an_event_is_one_json_object_with_the_opentelemetry_fields() -> None:
    [event] = run("log.warn('slow', tool='execute_tests', seconds=1.5, ids=[1, None])")
    assert list(event) == ["timestamp", "severity_text", "severity_number", "body", "attributes"]
    assert event["timestamp"].endswith("Z")
    assert (event["severity_text"], event["severity_number"], event["body"]) == ("WARN", 13, "slow")
    assert event["attributes"] == {"tool": "execute_tests", "seconds": 1.5, "ids": [1, None]}


def test_levels_have_the_numbers_of_opentelemetry() -> None:
    events = run(EVERY_LEVEL, {"FAULTLESS_LOG_LEVEL": "TRACE"})
    assert [(event["severity_text"], event["severity_number"]) for event in events] == list(
        zip(NAMES, (1, 5, 9, 13, 17, 21), strict=True)
    )


@pytest.mark.parametrize(
    ("environment", "lowest"),
    [
        ({}, "INFO"),
        ({"FAULTLESS_LOG_LEVEL": "debug"}, "DEBUG"),
        ({"OTEL_LOG_LEVEL": "Error"}, "ERROR"),
        ({"FAULTLESS_LOG_LEVEL": "fatal", "OTEL_LOG_LEVEL": "trace"}, "FATAL"),
        ({"FAULTLESS_LOG_LEVEL": "", "OTEL_LOG_LEVEL": "warn"}, "WARN"),
    ],
)
def test_the_level_comes_from_our_variable_then_from_opentelemetrys(
    environment: dict[str, str], lowest: str
) -> None:
    names = [event["severity_text"] for event in run(EVERY_LEVEL, environment)]
    assert names == NAMES[NAMES.index(lowest) :]


@pytest.mark.parametrize("variable", ["FAULTLESS_LOG_LEVEL", "OTEL_LOG_LEVEL"])
def test_a_wrong_level_is_one_warning_and_info(variable: str) -> None:
    first, *rest = run(EVERY_LEVEL + "\n" + EVERY_LEVEL, {variable: "loud"})
    assert first["body"] == f"{variable} is 'loud', which is no log level; using INFO"
    assert first["attributes"]["choices"] == NAMES
    assert [event["severity_text"] for event in rest] == NAMES[2:] * 2


def test_odd_values_are_logged_and_never_raise() -> None:
    code = """
class Rude:
    @property
    def __class__(self): raise OSError
    def __repr__(self): raise RuntimeError
    def __str__(self): raise RuntimeError
class RudeText(str):
    def __str__(self): raise RuntimeError
    def encode(self, *rest): raise RuntimeError
class RudeMap(dict):
    def items(self): raise RuntimeError
cycle = []
cycle.append(cycle)
deep = {}
for _ in range(5000): deep = {1: deep}
log.info('odd', rude=Rude(), text=RudeText('t'), mapping=RudeMap(a=1), cycle=cycle, deep=deep,
    nan=float('nan'), infinity=float('inf'), surrogate='a\\udc80', huge=10**5000, data=b'\\xff',
    key={(1, 2): 3, None: 4}, items={1}, error=ValueError('v'), newline='a\\nb', self='fine',
    level=log.Level.WARN)
log.info(Rude())
log.info(None)
"""
    event, *others = run(code)
    attributes = event["attributes"]
    assert attributes["rude"] == "<Rude>"
    assert attributes["text"] == "t"
    assert attributes["mapping"] == {"a": 1}
    assert attributes["error"] == "ValueError: v"
    assert attributes["nan"] == "nan"
    assert attributes["surrogate"] == "a?"
    assert attributes["huge"] == "an integer of 16610 bits"
    assert attributes["key"] == {"[1, 2]": 3, "null": 4}
    assert attributes["level"] == 13
    assert len(others) == 2


def test_lines_of_several_threads_do_not_tear() -> None:
    code = """
import threading
def speak(number):
    for turn in range(100): log.info('x' * (turn * 100), thread=number, turn=turn)
threads = [threading.Thread(target=speak, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    seen = {(event["attributes"]["thread"], event["attributes"]["turn"]) for event in run(code)}
    assert len(seen) == 800


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "2> >(true)"])
def test_a_stderr_that_takes_nothing_is_survived(redirection: str) -> None:
    code = "from faultless.kit import log\nfor _ in range(2000): log.error('x' * 100)\nprint('done')"
    finished = subprocess.run(
        ["bash", "-c", f'"$0" -c "$1" {redirection}', sys.executable, code],
        stdout=subprocess.PIPE,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert (finished.returncode, finished.stdout) == (0, b"done\n")


def test_a_file_opened_in_the_place_of_a_closed_stderr_is_not_written_to(tmp_path: Path) -> None:
    target = tmp_path / "data"
    code = (
        f"from faultless.kit import log\nimport os\nassert os.open({str(target)!r}, 65) == 2\nlog.error('x')"
    )
    subprocess.run(
        ["bash", "-c", '"$0" -c "$1" 2>&-', sys.executable, code], timeout=DEADLINE_SECONDS, check=True
    )
    assert target.read_bytes() == b""


def test_a_stderr_nobody_reads_does_not_block_and_the_loss_is_told() -> None:
    code = """
from faultless.kit import log
for turn in range(3000): log.info('x' * 100, turn=turn)
print('full', flush=True)
input()
log.info('last')
"""
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout
        assert child.stderr
        ready, _, _ = select.select([child.stdout], [], [], DEADLINE_SECONDS)
        assert ready, "logging blocked"
        early = os.read(child.stderr.fileno(), 1 << 20)
        _, late = child.communicate(b"\n", timeout=DEADLINE_SECONDS)
    events = [json.loads(line) for line in (early + late).splitlines()]
    kept, notice, last = events[:-2], events[-2], events[-1]
    assert last["body"] == "last"
    assert notice["severity_text"] == "WARN"
    assert notice["attributes"]["dropped_lines"] == 3000 - len(kept) > 0


def test_a_person_at_a_terminal_reads_words_and_colour() -> None:
    text = run_in_terminal("log.error('boom', tool='t', why='a\\nb')", {})
    assert "\x1b[31mERROR\x1b[0m boom" in text
    assert "tool=\x1b[0mt" in text
    assert "\r\n    b" in text


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_is_left_out_where_it_is_not_wanted(environment: dict[str, str]) -> None:
    text = run_in_terminal("log.error('boom', tool='t')", environment)
    assert text[9:].rstrip() == "ERROR boom tool=t"


def test_terminal_commands_from_strangers_are_not_obeyed() -> None:
    text = run_in_terminal("log.info('\\x1b]0;owned\\x07', name='\\x9b31m')", {"NO_COLOR": "1"})
    assert not any(mark in text for mark in "\x1b\x07\x9b")
    assert "owned" in text


def test_what_libraries_log_becomes_our_lines_from_warn_up() -> None:
    code = """
import logging, warnings
log.configure()
log.configure()
logging.getLogger('mcp.server').info('quiet')
logging.getLogger('mcp.server').warning('odd %s', 'frame')
logging.getLogger('asyncio').error('wrong %d', 'text')
logging.getLogger('anyio').critical('x' * 9000, exc_info=ValueError('why'))
warnings.warn('old')
"""
    events = run(code)
    assert [event["severity_text"] for event in events] == ["WARN", "ERROR", "FATAL", "WARN"]
    assert events[0]["body"] == "odd frame"
    assert events[0]["attributes"] == {"logger": "mcp.server"}
    assert events[1]["body"] == "wrong %d"
    assert events[2]["body"].endswith("x… (7000 more characters)")
    assert "ValueError: why" in events[2]["attributes"]["traceback"]
    assert "UserWarning: old" in events[3]["body"]


@pytest.mark.parametrize(
    ("level", "expected"), [("INFO", ["more", "most"]), ("DEBUG", ["some", "more", "most"])]
)
def test_what_our_own_modules_log_passes_at_the_configured_level(level: str, expected: list[str]) -> None:
    code = """
import logging
log.configure()
logging.getLogger('faultless.process.warm').debug('some')
logging.getLogger('faultless.process.warm').info('more')
logging.getLogger('faultless.process.warm').error('most')
logging.getLogger('faultless_stranger').info('not ours')
logging.getLogger('mcp').info('not ours')
"""
    events = run(code, {"FAULTLESS_LOG_LEVEL": level})
    assert [event["body"] for event in events] == expected
    assert {event["attributes"]["logger"] for event in events} == {"faultless.process.warm"}


@pytest.mark.parametrize("level", ["TRACE", "WARN", "FATAL"])
def test_our_own_modules_are_silent_below_the_configured_level(level: str) -> None:
    code = """
import logging
log.configure()
for number in (1, 10, 20, 30, 40, 50): logging.getLogger('faultless.process').log(number, 'x')
"""
    names = [event["severity_text"] for event in run(code, {"FAULTLESS_LOG_LEVEL": level})]
    assert names == NAMES[NAMES.index(level) :]


def test_a_forked_child_can_log_while_a_thread_was_logging() -> None:
    code = """
import os, threading
stop = threading.Event()
def speak():
    while not stop.is_set(): log.info('parent')
thread = threading.Thread(target=speak, daemon=True)
thread.start()
for _ in range(20):
    pid = os.fork()
    if not pid:
        log.info('child')
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
thread.join()
"""
    assert sum(event["body"] == "child" for event in run(code)) == 20


def test_importing_the_log_is_cheap() -> None:
    assert (
        run("import sys\nassert not {'logging', 'rich', 'mcp', 'asyncio', 'pydantic'} & set(sys.modules)")
        == []
    )
