"""What the five tools answer: the field names and status words are the source document's."""

from __future__ import annotations

from typing import Literal

from faultless.kit.toolset import Answer

Confidence = Literal["proven", "high", "partial"]


class Isolation(Answer):
    """What stood around the user's code."""

    level: Literal["strict", "partial", "none", "not needed"]
    layers: list[str]
    missing: list[str]


class SymbolicWork(Answer):
    paths: int
    exhausted: bool
    paths_replayed: int


class RandomWork(Answer):
    inputs: int
    outside_precondition: int
    too_slow: int
    domain_exhausted: bool


class Engines(Answer):
    """What each engine did; `winner` is the one whose claim held."""

    winner: Literal["symbolic", "random"] | None
    symbolic: SymbolicWork
    random: RandomWork
    rejected_by_replay: int


class _Counterexample(Answer):
    args: list[str]
    """Python expressions, in order."""
    kwargs: dict[str, str]
    path_condition: str
    """The branches taken, in the function's own names."""
    reproduction: str
    """A pytest test that fails; paste it below the code."""


class Violation(_Counterexample):
    violation: str
    actual_result: str


class TriggeringInput(_Counterexample):
    exception: str
    line: int
    stack_trace: list[str]


class DistinguishingInput(_Counterexample):
    function_a_result: str
    function_b_result: str
    explanation: str


class _Analysis(Answer):
    message: str
    assumptions: list[str]
    """What the answer rests on."""
    engines: Engines | None
    isolation: Isolation
    time_seconds: float


class CheckAnswer(_Analysis):
    status: Literal["verified", "counterexample", "timeout"]
    counterexamples: list[Violation]
    paths_explored: int
    paths_verified: int
    """Paths of a proof whose witness was run again in plain Python."""
    coverage_estimate: float
    """Measured: covered lines and branch sides of the function, of all it has."""
    confidence: Confidence


class ExceptionAnswer(_Analysis):
    status: Literal["found", "unreachable", "timeout"]
    triggering_inputs: list[TriggeringInput]
    """One for each line that raises."""
    paths_to_exception: int
    total_paths_explored: int
    confidence: Confidence


class CompareAnswer(_Analysis):
    status: Literal["equivalent", "different", "timeout"]
    distinguishing_input: DistinguishingInput | None
    paths_compared: int
    confidence: Confidence


class Branch(Answer):
    """null: neither shown nor proved unreachable."""

    line: int
    condition: str
    true_reachable: bool | None
    false_reachable: bool | None
    true_example: str | None
    false_example: str | None
    note: str


class BranchesAnswer(_Analysis):
    status: Literal["complete", "partial"]
    branches: list[Branch]
    total_branches: int
    reachable_branches: int
    """Branches of which a side was reached, or that were not proved dead when only read."""
    dead_code_lines: list[int]
    """Only lines proved unreachable."""
    cyclomatic_complexity: int
    analysis_mode: Literal["static", "symbolic"]


class HealthAnswer(Answer):
    status: Literal["healthy"]
    version: str
    python_version: str
    crosshair_version: str
    z3_version: str
    platform: str
    memory_usage_mb: float
    isolation: Isolation
