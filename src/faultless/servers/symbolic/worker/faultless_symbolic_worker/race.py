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

from . import events
from .checked import object_to
from .children import CRASHED
from .protocol import BRANCHES, COMPARE, EXCEPTION, Progress, Question, Refusal
from .replay import NOT_DETERMINISTIC
from .roles import Task
from .search import FIRST_INPUTS
from .subjects import FAIL, PASS, SKIP
from .termination import Termination

if TYPE_CHECKING:
    from collections.abc import Callable

    from .arguments import Written
    from .children import Child, Children
    from .provable import Language
    from .source import Source

_TICK_SECONDS = 0.05
_SILENCE_SECONDS = 1.5
_MAX_RESTARTS = 20
_MAX_SHRINKING = 2
_MAX_FINDINGS = 5
_MORE_SITES_SECONDS = 0.5
_MORE_SITES_INPUTS = 1500
_MORE_SITES_AT_MOST_SECONDS = 3.0
_MEASURED_LIMIT = 60
_CLOSING_SECONDS = 0.6
_PROGRESS_SECONDS = 0.5
_CHANCE = "not deterministic: the same call does not give the same outcome twice"


@dataclass(frozen=True)
class Failure:
    """A call that shows bad news, replayed, and the branches it takes in words."""

    call: events.ShownCall
    condition: str = ""


@dataclass
class Findings:
    """What is known when the race ends. `proof` says how, if there is one; `doubts` why there is none."""

    failures: list[Failure] = field(default_factory=list)
    proof: str | None = None
    doubts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: events.Facts | None = None
    measured: events.Measured = field(default_factory=events.Measured)
    replays: list[events.Replayed] = field(default_factory=list)
    searched: events.Searched = field(default_factory=events.Searched)
    explored: events.Explored = field(default_factory=events.Explored)
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
        progress: Callable[[Progress], None],
    ) -> None:
        self._source, self._question, self._language = source, question, language
        self._children = children
        self._deadline = deadline - _CLOSING_SECONDS
        self._progress = progress
        self._next_progress = time.monotonic() + _PROGRESS_SECONDS
        self.findings = Findings()
        self._witnesses: list[events.Witness] = []
        self._waiting: list[events.Candidate] = []
        self._covering: list[Written] = []
        self._shown: set[str] = set()
        self._restarts = 0
        self._first_failure = 0.0
        self._verifying = False
        self._has_explored = False
        self._done = False
        self._taken: set[tuple[int, bool]] = set()
        self._how = ""
        self._operations: events.Operations | None = None
        self._termination = Termination(self._start) if question.tool == COMPARE else None
        self._reactions: dict[type, Callable[[Child, Any], None]] = {
            events.Refused: self._on_refused,
            events.MemoryExhausted: self._on_memory_exhausted,
            events.Facts: self._on_facts,
            events.Witness: self._on_witness,
            events.Restarted: self._on_restarted,
            events.Explored: self._on_explored,
            events.Candidate: self._on_candidate,
            events.Covers: self._on_covers,
            events.TooSlow: self._on_too_slow,
            events.Searched: self._on_searched,
            events.Shrunk: self._on_shrunk,
            events.Replayed: self._on_replayed,
            events.Measured: self._on_measured,
            events.Operations: self._on_operations,
            events.Finished: self._on_finished,
            events.Gone: self._on_gone,
        }

    def run(self) -> Findings:
        try:
            for role in ("explore", "search"):
                self._start(role, seed=1)
            while not self._is_over():
                self._step()
                self._keep_searching()
                self._start_shrinking()
                self._report_progress()
            self._close()
        finally:
            self._children.stop_all()
        self.findings.paths = max(self.findings.paths, len(self._witnesses))
        return self.findings

    def _step(self) -> None:
        for child, event in self._children.hear(min(_TICK_SECONDS, self._time_left())):
            if child in self._children.alive or isinstance(event, events.Gone):
                self._on_event(child, event)

    def _close(self) -> None:
        """Measure what was covered, when no replay has done so yet."""
        self._children.stop_all()
        if self.findings.measured != events.Measured() or not self._covering:
            return
        self._deadline += _CLOSING_SECONDS
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
                or len(self.findings.failures) >= _MAX_FINDINGS
                or self._has_all_sites()
            )
        return not self._children.alive

    def _looked_for_more_sites(self) -> bool:
        """By work, not by the clock alone: on a busy machine little is done in half a second."""
        passed = time.monotonic() - self._first_failure
        has_tried = self.findings.searched.inputs >= _MORE_SITES_INPUTS
        return passed > (_MORE_SITES_SECONDS if has_tried else _MORE_SITES_AT_MOST_SECONDS)

    def _has_all_sites(self) -> bool:
        """Every path was explored, so every raise site is known."""
        checking = any(child.task.role in {"shrink", "replay"} for child in self._children.alive)
        return self.findings.explored.exhausted and not self._waiting and not checking

    def _start(self, role: str, **settings: Any) -> Child:
        return self._children.start(
            Task(role, self._source, self._question, **{"seconds": self._time_left(), **settings})
        )

    def _on_event(self, child: Child, event: events.Event | events.Gone) -> None:
        if self._termination is not None and self._termination.hears(child, event):
            self._on_termination(self._termination)
        elif type(event) in self._reactions:
            self._reactions[type(event)](child, event)
        else:
            raise Refusal("permission_denied", f"Blocked: an unexpected report ({type(event).__name__})")

    def _on_refused(self, _child: Child, event: events.Refused) -> None:
        raise Refusal(event.kind, event.message, hint=event.hint, **event.details)

    def _on_facts(self, _child: Child, event: events.Facts) -> None:
        self.findings.notes = event.notes
        self.findings.facts = event
        self._consider_proof()

    def _on_searched(self, child: Child, event: events.Searched) -> None:
        self.findings.searched = event
        if event.finished:
            self._children.stop(child)
        self._consider_proof()

    def _on_covers(self, _child: Child, event: events.Covers) -> None:
        self._taken.update(event.taken)
        facts = self.findings.facts
        if self._question.tool == BRANCHES and facts and len(self._taken) == facts.sides:
            self._done = True
        if len(self._covering) < _MEASURED_LIMIT:
            self._covering.append(event.input)

    def _on_witness(self, _child: Child, event: events.Witness) -> None:
        self._witnesses.append(event)
        self.findings.admitted += event.verdict == PASS
        if len(self._covering) < _MEASURED_LIMIT and event.verdict == PASS:
            self._covering.append(event.input)

    def _on_restarted(self, _child: Child, _event: events.Restarted) -> None:
        self.findings.paths = len(self._witnesses)
        self._witnesses.clear()

    def _on_too_slow(self, _child: Child, event: events.TooSlow) -> None:
        if self._termination is not None:
            self._termination.suspect(event.input, self._time_left())

    def _on_candidate(self, _child: Child, event: events.Candidate) -> None:
        site = event.label if self._question.tool == EXCEPTION else ""
        known = any(failure.call.label == site for failure in self.findings.failures)
        if not known and event.input not in [other.input for other in self._waiting]:
            self._waiting.append(event)

    def _start_shrinking(self) -> None:
        shrinking = [child for child in self._children.alive if child.task.role in {"shrink", "replay"}]
        most = _MAX_SHRINKING if self._question.tool == EXCEPTION else 1
        while self._waiting and len(shrinking) < most and not self._done:
            event = self._waiting.pop(0)
            if event.label in self._shown and self._question.tool == EXCEPTION:
                continue
            child = self._start("shrink", inputs=(event.input,))
            child.origin = event.engine
            shrinking.append(child)
        if self._question.tool != EXCEPTION:
            for child in self._children.alive:
                if child.task.role in {"explore", "search"}:
                    child.pause(paused=bool(shrinking))

    def _on_shrunk(self, child: Child, event: events.Shrunk) -> None:
        self._children.stop(child)
        if event.call.verdict != FAIL:
            self._reject(event.call)
            return
        if event.call.label in self._shown and self._question.tool == EXCEPTION:
            return
        written = event.call.input
        final = self._start("replay", inputs=(written,), measured=(written, *self._covering))
        final.origin = child.origin

    def _on_replayed(self, child: Child, event: events.Replayed) -> None:
        if child.origin and not child.task.is_proof:
            if event.call.verdict == FAIL:
                child.confirmed = event
            else:
                self._reject(event.call)
            return
        self.findings.replays.append(event)

    def _reject(self, call: events.ShownCall) -> None:
        self.findings.spurious += 1
        if call.label == NOT_DETERMINISTIC and _CHANCE not in self.findings.doubts:
            self.findings.doubts.insert(0, _CHANCE)

    def _on_measured(self, _child: Child, event: events.Measured) -> None:
        self.findings.measured = event

    def _on_finished(self, child: Child, _event: events.Finished) -> None:
        self._children.stop(child)
        if child.task.is_proof:
            self._finish_proof()
        elif child.confirmed is not None and child.confirmed.call.label not in self._shown:
            self._shown.add(child.confirmed.call.label)
            self._first_failure = self._first_failure or time.monotonic()
            self.findings.failures.append(Failure(child.confirmed.call, self.findings.measured.condition))
            self.findings.winner = self.findings.winner or child.origin
            self._done = self._question.tool not in (EXCEPTION, BRANCHES)

    def _on_explored(self, child: Child, event: events.Explored) -> None:
        self._has_explored = True
        self.findings.explored = event
        self.findings.paths = event.paths
        self.findings.doubts.extend(event.doubts)
        self._children.stop(child)
        self._consider_proof()

    def _consider_proof(self) -> None:
        """All four must hold: exhausted, confirmed, exact; provable code; the random engine had its turn."""
        explored, searched = self.findings.explored, self.findings.searched
        facts = self.findings.facts
        if self._verifying or self.findings.failures or facts is None:
            return
        tried = searched.finished or searched.inputs >= FIRST_INPUTS
        complete = explored.exhausted and explored.confirmed and not explored.doubts
        if searched.enumerated:
            self._verify("enumeration", [], facts)
        elif complete and tried:
            self._verify("exploration", [witness.input for witness in self._witnesses], facts)

    def _verify(self, how: str, inputs: list[Written], facts: events.Facts) -> None:
        doubts = [*self._language.doubts, *facts.doubts]
        if doubts:
            self.findings.doubts.extend(doubts[:5])
            return
        if self.findings.searched.failed or self.findings.searched.unclear:
            self.findings.doubts.append("the random engine met inputs whose outcome is not clear")
            return
        self._verifying = True
        self._how = how
        # A line is called dead if no path of the proof runs it, so there all paths are measured.
        covering = [*self._covering, *inputs]
        measured = tuple(covering if self._question.tool == BRANCHES else covering[:_MEASURED_LIMIT])
        self._start("replay", inputs=tuple(inputs), measured=measured, is_proof=True)

    def _finish_proof(self) -> None:
        agreed = sum(map(_agrees, self._witnesses, self.findings.replays))
        self.findings.paths_verified = agreed
        if self._how == "exploration" and agreed < len(self._witnesses):
            self.findings.doubts.append("a path's witness does something else when it is run in plain Python")
            return
        may_alias = self.findings.facts is None or self.findings.facts.may_alias
        ran_all = self._how == "enumeration"
        objections = object_to(self._operations, may_alias=may_alias, ran_all=ran_all)
        if objections:
            self.findings.doubts[:0] = objections
            return
        self.findings.proof = self._how
        self.findings.winner = "search" if self._how == "enumeration" else "explore"
        self._done = True

    def _on_operations(self, _child: Child, event: events.Operations) -> None:
        self._operations = event

    def _on_termination(self, termination: Termination) -> None:
        for child in termination.finished:
            self._children.stop(child)
        if termination.verdict is not None:
            self.findings.failures.append(Failure(termination.verdict))
            self.findings.winner = "search"
            self._done = True

    def _on_gone(self, child: Child, event: events.Gone) -> None:
        if os.waitstatus_to_exitcode(event.status) == CRASHED and not self.findings.facts:
            # Before it had even read the code: a bug of ours, and no answer.
            raise Refusal("engine_error", "The process that analyses the code failed before it began")
        if child.task.role == "explore" and not self._has_explored:
            self._has_explored = True
            self.findings.doubts.append("the symbolic engine ended early")
        if child.task.role == "replay" and child.task.is_proof:
            self.findings.doubts.append("the replay of the proof's witnesses ended early")
        if child.task.role == "search" and not self.findings.searched.finished:
            self._restart_search()

    def _on_memory_exhausted(self, child: Child, _event: events.MemoryExhausted) -> None:
        self.findings.notes.append("the memory limit was reached")
        self._on_gone(child, events.Gone(0))
        self._children.stop(child)

    def _keep_searching(self) -> None:
        """A search stuck inside one call of a C function hears no alarm; only a new process helps."""
        now = time.monotonic()
        for child in list(self._children.alive):
            is_silent = now - child.last_heard > _SILENCE_SECONDS
            if child.task.role == "search" and is_silent and not child.is_paused:
                self._children.stop(child)
                self._restart_search()

    def _restart_search(self) -> None:
        if self._restarts < _MAX_RESTARTS and not self._done:
            self._restarts += 1
            self._start("search", seed=1 + self._restarts)

    def _report_progress(self) -> None:
        now = time.monotonic()
        if now >= self._next_progress:
            self._next_progress = now + _PROGRESS_SECONDS
            self._progress(Progress(paths=len(self._witnesses), inputs=self.findings.searched.inputs))


def _agrees(claim: events.Witness, replay: events.Replayed) -> bool:
    """The same verdict, the same kind of outcome, and the same value where there is one."""
    call = replay.call
    if (claim.verdict, claim.label) != (call.verdict, call.label):
        return False
    if claim.verdict == SKIP:
        return True
    claimed = [text for text, outcome in zip(claim.results, call.outcomes, strict=False) if not outcome.error]
    return claimed == [outcome.text for outcome in call.outcomes if not outcome.error]
