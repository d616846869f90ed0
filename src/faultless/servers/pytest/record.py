"""What the worker said about one pytest session, kept as it arrives."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

LINE_LIMIT = 64 << 20  # the worker's own limits are far below
KEPT_LIMIT = 64 << 20
MESSAGE_LIMIT = 200
PHASES = ("setup", "call", "teardown")
OUTSIDE_PHASES = "???"  # how xdist reports a test whose worker process died


@dataclass(frozen=True, slots=True)
class Phase:
    """One report of pytest: a phase of a test, or a subtest within it."""

    name: str
    outcome: str
    duration: float
    message: str | None = None
    text: str | None = None
    wasxfail: str | None = None
    subtest: str | None = None
    frame: tuple[str, int] | None = None
    sections: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Test:
    node_id: str
    phases: list[Phase] = field(default_factory=list)
    is_finished: bool = False
    has_failed: bool = False
    reruns: int = 0

    @property
    def is_decided(self) -> bool:
        """A test that only got through its setup has proved nothing, as in pytest's own counts."""
        return any(
            phase.name not in {"setup", "teardown"} or phase.outcome != "passed" for phase in self.phases
        )

    @property
    def awaits_rerun(self) -> bool:
        return any(phase.outcome == "rerun" for phase in self.phases)

    def add(self, phase: Phase) -> None:
        if phase.outcome == "rerun":
            self.reruns += 1
        self.phases.append(phase)
        self.has_failed |= phase.outcome == "failed"
        self.is_finished |= phase.subtest is None and phase.name in {"teardown", OUTSIDE_PHASES}

    def start_again(self) -> None:
        """A plugin runs it once more: what it was before counts no longer."""
        self.phases.clear()
        self.is_finished = self.has_failed = False


@dataclass(frozen=True, slots=True)
class Finish:
    exit_status: int
    stop: str | None
    duration: float
    warnings: int
    modules: list[str] = field(default_factory=list)
    """Installed modules that the run imported, in order."""


@dataclass(slots=True)
class Record:
    """Everything reported so far. A run that dies leaves whatever had arrived."""

    worker: dict[str, Any] | None = None
    rootdir: str | None = None
    planned: list[Any] = field(default_factory=list)
    is_planned: bool = False
    tests: list[Test] = field(default_factory=list)
    running: Counter[str] = field(default_factory=Counter)
    deselected: int = 0
    collection_errors: list[dict[str, Any]] = field(default_factory=list)
    collection_skips: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    internal_error: str | None = None
    interruption: str | None = None
    finish: Finish | None = None
    garbled_lines: int = 0
    _rest: bytes = b""
    _kept: int = 0
    _open: dict[str, dict[str | None, Test]] = field(default_factory=dict)

    @property
    def has_started(self) -> bool:
        """Whether any test may have had an effect."""
        return bool(self.tests or self.running)

    @property
    def modules(self) -> list[str]:
        return self.finish.modules if self.finish else []

    @property
    def unreported(self) -> int:
        """Tests that were planned and never came to an end that says something."""
        return max(0, len(self.planned) - self.ended)

    @property
    def ended(self) -> int:
        return sum(test.is_finished and test.is_decided for test in self.tests)

    def feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_LIMIT:
            self._rest = b""
            self.garbled_lines += 1
        for line in lines:
            try:
                event = json.loads(line)
                self._take(event.pop("event"), event)
            except (ValueError, KeyError, TypeError, AttributeError):
                self.garbled_lines += 1  # the completeness check decides what that is worth

    def _take(self, name: str, event: dict[str, Any]) -> None:  # noqa: C901, PLR0912 - one case per event
        match name:
            case "started":
                self.running[event["test"]] += 1
            case "passed":
                self._take_passed(event)
            case "phase":
                self._take_phase(event)
            case "finished":
                self._end(event["test"])
            case "planned":
                self.planned += event["tests"]
                self.is_planned |= event.get("complete", False)
            case "deselected":
                self.deselected += event["count"]
            case "collection_error":
                self.collection_errors.append(event)
            case "collection_skip":
                self.collection_skips.append(event)
            case "warning":
                self.warnings.append(event)
            case "hello":
                self.worker = event
            case "session":
                self.rootdir = event["rootdir"]
            case "internal_error":
                self.internal_error = event["text"]
            case "interrupted":
                self.interruption = event["reason"]
            case "finish":
                self.finish = Finish(**event)

    def _take_passed(self, event: dict[str, Any]) -> None:
        node_id, node = event["test"], event["node"]
        for name, duration in zip(PHASES, event["durations"], strict=True):
            self._add(node_id, node, Phase(name, "passed", duration))

    def _take_phase(self, event: dict[str, Any]) -> None:
        node_id, node = event.pop("test"), event.pop("node")
        self._bound(event)
        phase = Phase(
            name=event.pop("phase"),
            frame=tuple(event.pop("frame", None) or ()) or None,
            sections=tuple((name, text) for name, text in event.pop("sections", ())),
            **event,
        )
        self._add(node_id, node, phase)

    def _add(self, node_id: str, node: str | None, phase: Phase) -> None:
        open_tests = self._open.setdefault(node_id, {})
        test = open_tests.get(node)
        if test is not None and phase.name == "setup" and (test.awaits_rerun or not test.is_finished):
            test.start_again()
        elif test is None or phase.name == "setup":
            test = open_tests[node] = Test(node_id)
            self.tests.append(test)
        test.add(phase)
        if test.is_finished:
            self._stop(node_id)

    def _bound(self, event: dict[str, Any]) -> None:
        """Ten thousand failures of a megabyte each must not fill the server: later ones lose their text."""
        size = sum(len(event.get(name) or "") for name in ("text", "message"))
        if self._kept + size > KEPT_LIMIT:
            event["text"] = f"[left out: {len(event.get('text') or ''):,} characters]"
            event["message"] = (event.get("message") or "")[:MESSAGE_LIMIT]
            size = len(event["text"]) + len(event["message"])
        self._kept += size

    def _stop(self, node_id: str) -> None:
        self.running[node_id] -= 1
        if self.running[node_id] <= 0:
            del self.running[node_id]

    def _end(self, node_id: str) -> None:
        self._stop(node_id)
        for test in self._open.get(node_id, {}).values():
            test.is_finished = True
