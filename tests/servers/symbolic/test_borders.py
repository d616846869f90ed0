"""The worker's borders: what it loads, which events it believes, which descriptors reach user code."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

import pytest

from faultless.servers.symbolic import worker
from faultless.servers.symbolic.engine import make_recipe
from faultless.servers.symbolic.worker.faultless_symbolic_worker import events
from faultless.servers.symbolic.worker.faultless_symbolic_worker.arguments import Written
from faultless.servers.symbolic.worker.faultless_symbolic_worker.protocol import CHECK, Question, Request

DEADLINE_SECONDS = 120
CODE = "def f(x: int) -> int:\n    return x if x > 3 else x + 1\n"
ANSWER_ONE_REQUEST = """
import importlib, json, pkgutil, sys
before = set(sys.modules)
import faultless_symbolic_worker as worker
for found in pkgutil.iter_modules(worker.__path__):
    importlib.import_module(f"{worker.__name__}.{found.name}")
from faultless_symbolic_worker import job, protocol
told = []
job.handle(protocol.Request.from_json(json.load(sys.stdin)), told.append)
print(json.dumps({"told": told, "loaded": sorted(set(sys.modules) - before)}))
"""


def run_isolated(program: str, **told: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(told),
        env=dict(make_recipe().env),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


ENGINE = ("crosshair-tool", "icontract", "deal", "pygments")
"""CrossHair loads the two libraries of contracts where they are installed, and deal loads pygments."""


def packages_of(*distributions: str) -> set[str]:
    """What can be imported of them and of all they need, as far as that is installed."""
    known: set[str] = set()
    waiting = list(distributions)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in known:
            continue
        try:
            wanted = requires(name) or []
        except PackageNotFoundError:
            continue
        known.add(name)
        waiting += [re.split(r"[^\w.-]", line)[0] for line in wanted if "extra ==" not in line]
    return {
        package
        for package, owners in packages_distributions().items()
        if known & {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners}
    }


def test_the_worker_loads_the_standard_library_and_crosshair_only() -> None:
    request = Request(
        question=Question(CHECK, "f"),
        code=CODE,
        seconds=20.0,
        is_static=False,
        memory_megabytes=2048,
        requires_strict=False,
        allow_imports=(),
    )
    found = json.loads(run_isolated(ANSWER_ONE_REQUEST, **request.as_json()))
    assert found["told"][-1]["answer"]["status"] == "verified"
    tops = {name.partition(".")[0] for name in found["loaded"]}
    assert worker.PROGRAM in tops
    assert "faultless" not in tops
    assert tops - {worker.PROGRAM} - sys.stdlib_module_names - packages_of(*ENGINE) == set()


def read_events(*lines: bytes) -> list[events.Event] | None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(b"".join(b"secret" + line + b"\n" for line in lines))
    try:
        return events.Reader(reading, "secret").read()
    finally:
        os.close(reading)


EVENTS: list[events.Event] = [
    events.Isolated(["limits"]),
    events.Refused("timeout", "late", None, {"line": 3}),
    events.Restarted(),
    events.Witness(Written(("1",), {"y": "2"}, ("decimal",)), "pass", "returns", ["3"]),
    events.Covers(Written(("1",)), [(0, True), (1, False)]),
    events.Replayed(
        events.ShownCall(
            Written(), "fail", "raises", outcomes=[events.ShownOutcome("raises X", "X", 3, ["line 3"])]
        ),
        [(2, True)],
    ),
    events.Measured([1], [1, 2], [(0, False)], 4, "x > 3"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_comes_back_as_it_was_sent(event: events.Event) -> None:
    reading, writing = os.pipe()
    events.Writer(writing, "secret").emit(event)
    os.close(writing)
    try:
        assert events.Reader(reading, "secret").read() == [event]
    finally:
        os.close(reading)


@pytest.mark.parametrize(
    "message",
    [
        {"event": "start", "role": "explore"},
        {"event": "_on_event"},
        {"event": "Gone", "status": 0},
        {"event": "Explored", "exhausted": True},
        {"event": "Explored", "exhausted": 1, "confirmed": True, "paths": 1, "doubts": []},
        {"event": "Explored", "exhausted": True, "confirmed": True, "paths": 1, "doubts": [], "proof": True},
        {"event": "Covers", "input": {"args": [], "kwargs": {}, "imports": []}, "taken": [[0, True, 1]]},
        {"event": "TooSlow", "input": {"args": "x", "kwargs": {}, "imports": []}},
        {"event": ["Finished"]},
        {"role": "explore"},
        ["Finished"],
    ],
    ids=json.dumps,
)
def test_an_event_that_is_not_known_is_tampering(message: object) -> None:
    with pytest.raises(events.TamperedError):
        read_events(json.dumps(message).encode())


HIGH = 2000
CLOSE_ALL = """
import os, resource
from faultless_symbolic_worker import sandbox
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
reading, writing = os.pipe()
for number in (5, 1023, 1024, 2000):
    os.dup2(reading, number)
sandbox.close_all_but(writing)
left = []
for number in range(3, 2001):
    try:
        os.fstat(number)
    except OSError:
        continue
    left.append(number)
print(left == [writing])
"""


def test_descriptors_of_any_number_are_closed() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most <= HIGH:
        pytest.skip(f"this system allows {most} descriptors")
    assert run_isolated(CLOSE_ALL).strip() == "True"
