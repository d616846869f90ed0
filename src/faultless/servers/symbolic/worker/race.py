"""One request: two engines race, every claim is checked in a fresh process, the first valid answer wins.

Runs in the supervisor, which never runs user code. What children say is a claim: a counterexample is
believed after a replay in a new process, a proof after every witness of it has been replayed and the random
engine has had its turn.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from faultless.servers.symbolic.worker.arguments import Written
from faultless.servers.symbolic.worker.children import CRASHED
from faultless.servers.symbolic.worker.prepare import BRANCHES, COMPARE, EXCEPTION, Question
from faultless.servers.symbolic.worker.refusal import Refusal
from faultless.servers.symbolic.worker.roles import Task
from faultless.servers.symbolic.worker.search import FIRST_INPUTS
from faultless.servers.symbolic.worker.subjects import FAIL, PASS, SKIP
from faultless.servers.symbolic.worker.termination import Termination

if TYPE_CHECKING:
    from collections.abc import Callable

    from faultless.servers.symbolic.worker.children import Child, Children
    from faultless.servers.symbolic.worker.provable import Language
    from faultless.servers.symbolic.worker.source import Source

TICK_SECONDS = 0.05
SILENCE_SECONDS = 1.5
MAX_RESTARTS = 20
MAX_SETTLING = 2
MAX_FINDINGS = 5
MORE_SITES_SECONDS = 0.5
MORE_SITES_INPUTS = 1500
MORE_SITES_AT_MOST_SECONDS = 3.0
MEASURED_LIMIT = 60
CLOSING_SECONDS = 0.6


@dataclass
class Findings:
    """What is known when the race ends. `proof` says how, if it is one; `doubts` why not, if it is none."""

    failures: list[dict[str, Any]] = field(default_factory=list)
    proof: str | None = None
    doubts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    measured: dict[str, Any] = field(default_factory=dict)
    replays: list[dict[str, Any]] = field(default_factory=list)
    searched: dict[str, Any] = field(default_factory=dict)
    explored: dict[str, Any] = field(default_factory=dict)
    paths: int = 0
    paths_verified: int = 0
    admitted: int = 0
    winner: str = ""
    spurious: int = 0


class Race:
    def __init__(
        self,
        source: Source,
        question: Question,
        language: Language,
        children: Children,
        *,
        deadline: float,
        progress: Callable[[dict[str, Any]], None],
    ) -> None:
        self._source, self._question, self._language = source, question, language
        self._children = children
        self._deadline = deadline - CLOSING_SECONDS
        self._progress = progress
        self._next_progress = time.monotonic() + 0.5
        self.findings = Findings()
        self._witnesses: list[dict[str, Any]] = []
        self._waiting: list[dict[str, Any]] = []
        self._covering: list[Written] = []
        self._settled: set[str] = set()
        self._restarts = 0
        self._first_failure = 0.0
        self._verifying = False
        self._enumerated = False
        self._done = False
        self._taken: set[tuple[int, bool]] = set()
        self._how = ""
        self._termination = Termination(self._start) if question.tool == COMPARE else None

    def run(self) -> Findings:
        try:
            for role in ("explore", "search"):
                self._start(role, seed=1)
            while not self._is_over():
                self._step()
                self._keep_searching()
                self._start_settling()
                self._report_progress()
            self._close()
        finally:
            self._children.stop_all()
        self.findings.paths = max(self.findings.paths, len(self._witnesses))
        return self.findings

    def _step(self) -> None:
        for child, event in self._children.hear(min(TICK_SECONDS, self._time_left())):
            if child in self._children.alive or event["event"] == "gone":
                self._on_event(child, event)

    def _close(self) -> None:
        """Measure what was covered, when no replay has done so yet."""
        self._children.stop_all()
        if self.findings.measured or not self._covering:
            return
        self._deadline += CLOSING_SECONDS
        inputs = tuple(self._covering) if self._question.tool == BRANCHES else ()
        self._done = self._verifying = False
        child = self._start("replay", inputs=inputs, measured=tuple(self._covering))
        while child in self._children.alive and self._time_left() > 0:
            self._step()

    def _time_left(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    def _is_over(self) -> bool:
        if self._done or self._time_left() <= 0:
            return True
        if self._question.tool == EXCEPTION and self.findings.failures:
            return (
                self._looked_for_more_sites()
                or len(self.findings.failures) >= MAX_FINDINGS
                or self._has_all_sites()
            )
        return not self._children.alive

    def _looked_for_more_sites(self) -> bool:
        """By work, not by the clock alone: on a busy machine little is done in half a second."""
        passed = time.monotonic() - self._first_failure
        has_tried = self.findings.searched.get("inputs", 0) >= MORE_SITES_INPUTS
        return passed > (MORE_SITES_SECONDS if has_tried else MORE_SITES_AT_MOST_SECONDS)

    def _has_all_sites(self) -> bool:
        """Every path was explored, so every raise site is known."""
        checking = any(child.task.role in {"settle", "replay"} for child in self._children.alive)
        return bool(self.findings.explored.get("exhausted")) and not self._waiting and not checking

    def _start(self, role: str, **settings: Any) -> Child:
        return self._children.start(
            Task(role, self._source, self._question, **{"seconds": self._time_left(), **settings})
        )

    def _on_event(self, child: Child, event: dict[str, Any]) -> None:
        name = event["event"]
        if self._termination is not None and self._termination.hears(child, event):
            self._on_termination()
        elif name == "refused":
            raise Refusal.from_json(event)
        else:
            getattr(self, f"_on_{name}", self._ignore)(child, event)

    def _ignore(self, child: Child, event: dict[str, Any]) -> None:
        """Events that only show that a child is alive."""

    def _on_prepared(self, _child: Child, event: dict[str, Any]) -> None:
        self.findings.notes = event["notes"]
        self.findings.facts = event
        self._consider_proof()

    def _on_searched(self, child: Child, event: dict[str, Any]) -> None:
        self.findings.searched = event
        if event["finished"]:
            self._enumerated = event["enumerated"]
            self._children.stop(child)
        self._consider_proof()

    def _on_covers(self, _child: Child, event: dict[str, Any]) -> None:
        self._taken.update((number, side) for number, side in event["taken"])
        if self._question.tool == BRANCHES and len(self._taken) == self.findings.facts.get("sides"):
            self._done = True
        if len(self._covering) < MEASURED_LIMIT:
            self._covering.append(Written.from_json(event["input"]))

    def _on_witness(self, _child: Child, event: dict[str, Any]) -> None:
        self._witnesses.append(event)
        self.findings.admitted += event["verdict"] == PASS
        if len(self._covering) < MEASURED_LIMIT and event["verdict"] == PASS:
            self._covering.append(Written.from_json(event["input"]))

    def _on_restarted(self, _child: Child, _event: dict[str, Any]) -> None:
        self.findings.paths = len(self._witnesses)
        self._witnesses.clear()

    def _on_slow(self, _child: Child, event: dict[str, Any]) -> None:
        if self._termination is not None:
            self._termination.suspect(Written.from_json(event["input"]), self._time_left())

    def _on_candidate(self, _child: Child, event: dict[str, Any]) -> None:
        site = event["label"] if self._question.tool == EXCEPTION else ""
        known = any(failure["label"] == site for failure in self.findings.failures)
        if not known and event["input"] not in [other["input"] for other in self._waiting]:
            self._waiting.append(event)

    def _start_settling(self) -> None:
        settling = [child for child in self._children.alive if child.task.role in {"settle", "replay"}]
        most = MAX_SETTLING if self._question.tool == EXCEPTION else 1
        while self._waiting and len(settling) < most and not self._done:
            event = self._waiting.pop(0)
            if event["label"] in self._settled and self._question.tool == EXCEPTION:
                continue
            child = self._start("settle", inputs=(Written.from_json(event["input"]),))
            child.origin = event["engine"]
            settling.append(child)
        if self._question.tool != EXCEPTION:
            for child in self._children.alive:
                if child.task.role in {"explore", "search"}:
                    child.pause(paused=bool(settling))

    def _on_settled(self, child: Child, event: dict[str, Any]) -> None:
        self._children.stop(child)
        if event["verdict"] != FAIL:
            self.findings.spurious += 1
            return
        if event["label"] in self._settled and self._question.tool == EXCEPTION:
            return
        written = Written.from_json(event["input"])
        final = self._start("replay", inputs=(written,), measured=(written, *self._covering))
        final.origin = child.origin

    def _on_replayed(self, child: Child, event: dict[str, Any]) -> None:
        if child.origin and not self._is_proof_replay(child):
            if event["verdict"] == FAIL:
                child.confirmed = event
            else:
                self.findings.spurious += 1
            return
        self.findings.replays.append(event)

    def _is_proof_replay(self, child: Child) -> bool:
        return child.task.seed == PROOF_SEED

    def _on_measured(self, _child: Child, event: dict[str, Any]) -> None:
        self.findings.measured = event

    def _on_finished(self, child: Child, _event: dict[str, Any]) -> None:
        self._children.stop(child)
        if self._is_proof_replay(child):
            self._finish_proof()
        elif child.confirmed is not None and child.confirmed["label"] not in self._settled:
            failure = {**child.confirmed, "condition": self.findings.measured.get("condition", "")}
            self._settled.add(failure["label"])
            self._first_failure = self._first_failure or time.monotonic()
            self.findings.failures.append(failure)
            self.findings.winner = self.findings.winner or child.origin
            self._done = self._question.tool not in (EXCEPTION, BRANCHES)

    def _on_explored(self, child: Child, event: dict[str, Any]) -> None:
        self.findings.explored = event
        self.findings.paths = event["paths"]
        self.findings.doubts = list(event["doubts"])
        self._children.stop(child)
        self._consider_proof()

    def _consider_proof(self) -> None:
        """All four must hold: exhausted, confirmed, exact; provable code; the random engine had its turn."""
        explored, searched = self.findings.explored, self.findings.searched
        if self._verifying or self.findings.failures or not self.findings.facts:
            return
        tried = searched.get("finished") or searched.get("inputs", 0) >= FIRST_INPUTS
        complete = explored.get("exhausted") and explored.get("confirmed") and not explored.get("doubts")
        if self._enumerated:
            self._verify("enumeration", [])
        elif complete and tried:
            self._verify("exploration", [Written.from_json(event["input"]) for event in self._witnesses])

    def _verify(self, how: str, inputs: list[Written]) -> None:
        doubts = [*self._language.doubts, *self.findings.facts["doubts"]]
        if doubts:
            self.findings.doubts.extend(doubts[:5])
            return
        if searched_trouble(self.findings.searched):
            self.findings.doubts.append("the random engine met inputs whose outcome is not clear")
            return
        self._verifying = True
        self._how = how
        measured = tuple((self._covering or inputs)[:MEASURED_LIMIT])
        self._start("replay", inputs=tuple(inputs), measured=measured, seed=PROOF_SEED)

    def _finish_proof(self) -> None:
        agreed = sum(map(_agrees, self._witnesses, self.findings.replays))
        self.findings.paths_verified = agreed
        if self._how == "exploration" and agreed < len(self._witnesses):
            self.findings.doubts.append("a path's witness does something else when it is run in plain Python")
            return
        self.findings.proof = self._how
        self.findings.winner = "search" if self._how == "enumeration" else "explore"
        self._done = True

    def _on_termination(self) -> None:
        assert self._termination is not None  # noqa: S101 - only called by it
        for child in self._termination.finished:
            self._children.stop(child)
        if self._termination.verdict is not None:
            self.findings.failures.append(self._termination.verdict)
            self.findings.winner = "search"
            self._done = True

    def _on_gone(self, child: Child, event: dict[str, Any]) -> None:
        if os.waitstatus_to_exitcode(event["status"]) == CRASHED and not self.findings.facts:
            # Before it had even read the code: a bug of ours, and no answer.
            raise Refusal("engine_error", "The process that analyses the code failed before it began")
        if child.task.role == "explore" and not self.findings.explored:
            self.findings.doubts.append("the symbolic engine ended early")
            self.findings.explored = {"crashed": event["status"]}
        if child.task.role == "replay" and self._is_proof_replay(child):
            self.findings.doubts.append("the replay of the proof's witnesses ended early")
        if child.task.role == "search" and not self.findings.searched.get("finished"):
            self._restart_search()

    def _on_exhausted_memory(self, child: Child, _event: dict[str, Any]) -> None:
        self.findings.notes.append("the memory limit was reached")
        self._on_gone(child, {"status": 0})
        self._children.stop(child)

    def _keep_searching(self) -> None:
        """A search stuck inside one call of a C function hears no alarm; only a new process helps."""
        now = time.monotonic()
        for child in list(self._children.alive):
            is_silent = now - child.last_heard > SILENCE_SECONDS
            if child.task.role == "search" and is_silent and not child.is_paused:
                self._children.stop(child)
                self._restart_search()

    def _restart_search(self) -> None:
        if self._restarts < MAX_RESTARTS and not self._done:
            self._restarts += 1
            self._start("search", seed=1 + self._restarts)

    def _report_progress(self) -> None:
        now = time.monotonic()
        if now >= self._next_progress:
            self._next_progress = now + 0.5
            inputs = self.findings.searched.get("inputs", 0)
            self._progress({"paths": len(self._witnesses), "inputs": inputs})


PROOF_SEED = -1


def searched_trouble(searched: dict[str, Any]) -> bool:
    return bool(searched.get("failed") or searched.get("unclear"))


def _agrees(claim: dict[str, Any], replay: dict[str, Any]) -> bool:
    """The same verdict, the same kind of outcome, and the same value where there is one."""
    if (claim["verdict"], claim["label"]) != (replay["verdict"], replay["label"]):
        return False
    if claim["verdict"] == SKIP:
        return True
    shown = [outcome["text"] for outcome in replay["outcomes"]]
    values = [
        text
        for text, outcome in zip(claim["results"], replay["outcomes"], strict=False)
        if not outcome["error"]
    ]
    return values == [
        text for text, outcome in zip(shown, replay["outcomes"], strict=True) if not outcome["error"]
    ]
