"""From what a race found to the fields of a tool's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .branches import count_complexity, find_dead_lines, list_branches
from .protocol import CHECK, COMPARE, EXCEPTION, Question, Refusal
from .reproduction import write_test

if TYPE_CHECKING:
    from .race import Failure, Findings
    from .source import Source

_HIGH_INPUTS = 1000
_RESTS_ON = {
    "exploration": "the engine's models of Python's operations were tested against CPython, not proved",
    "enumeration": "no model of the engine was needed: every input was run in CPython",
}
_ENGINES = {"explore": "symbolic", "search": "random", "": None}


def write_answer(source: Source, question: Question, findings: Findings) -> dict[str, Any]:
    writers = {CHECK: _check, EXCEPTION: _exception, COMPARE: _compare}
    answer = writers.get(question.tool, _branches)(source, question, findings)
    return {**answer, "assumptions": _assumptions(question, findings), "engines": _engines(findings)}


def _engines(findings: Findings) -> dict[str, Any]:
    explored, searched = findings.explored, findings.searched
    return {
        "winner": _ENGINES[findings.winner],
        "symbolic": {
            "paths": findings.paths,
            "exhausted": explored.exhausted,
            "paths_replayed": findings.paths_verified,
        },
        "random": {
            "inputs": searched.inputs,
            "outside_precondition": searched.skipped,
            "too_slow": searched.slow,
            "domain_exhausted": searched.enumerated,
        },
        "rejected_by_replay": findings.spurious,
    }


def _assumptions(question: Question, findings: Findings) -> list[str]:
    found = list(findings.notes)
    facts = findings.facts
    if findings.proof and facts:
        if facts.has_int:
            found.append("an argument annotated int is an int, not a bool")
        found.append(_RESTS_ON[findings.proof])
        found.append("memory and recursion depth suffice")
    if question.tool in (CHECK, COMPARE) and findings.searched.slow:
        found.append("inputs that exceed the recursion limit or run too long are left out")
    return found


def _coverage(findings: Findings) -> float:
    """Covered lines and branch sides of the function, of all it has."""
    measured = findings.measured
    total = len(measured.possible_lines) + measured.possible_sides
    covered = len(measured.lines) + len(measured.sides)
    return round(covered / total, 4) if total else 0.0


def _confidence(findings: Findings) -> str:
    """proven; high: every line and branch side was run and 1000 inputs agree; else partial."""
    if findings.proof or findings.failures:
        return "proven"
    agreed = findings.searched.passed >= _HIGH_INPUTS
    return "high" if agreed and _coverage(findings) == 1.0 else "partial"


def _why_open(findings: Findings) -> str:
    reasons = [*dict.fromkeys(findings.doubts)][:3]
    if not reasons:
        reasons = ["time ran out before every path was explored"]
    inputs = findings.searched.passed
    tried = f"{findings.paths} paths and {inputs} inputs were tried, none failed."
    slow = findings.searched.slow
    if slow:
        tried += f" {slow} more inputs ran too long or too deep to be judged."
    return f"Not settled: {'; '.join(reasons)}. {tried}"


def _require_inputs(findings: Findings) -> None:
    """A claim about no input at all is not a claim."""
    if findings.proof and not findings.admitted and not findings.searched.passed:
        raise Refusal(
            "invalid_params",
            "The precondition is vacuous: no input satisfies it, so nothing was checked",
            hint="weaken the precondition",
        )


def _counterexample(source: Source, question: Question, failure: Failure) -> dict[str, Any]:
    written = failure.call.input
    return {
        "args": list(written.args),
        "kwargs": dict(written.kwargs),
        "path_condition": failure.condition,
        "reproduction": write_test(source, question, failure.call),
    }


def _check(source: Source, question: Question, findings: Findings) -> dict[str, Any]:
    _require_inputs(findings)
    examples = [
        {
            **_counterexample(source, question, failure),
            "violation": failure.call.violation,
            "actual_result": failure.call.outcomes[0].text,
        }
        for failure in findings.failures
    ]
    if examples:
        status = "counterexample"
        first = findings.failures[0].call
        message = f"{question.function}({first.input.call_text}): {first.violation}"
    elif findings.proof:
        status = "verified"
        message = f"Every path of {question.function} keeps the contract ({findings.proof})"
    else:
        status = "timeout"
        message = _why_open(findings)
        if findings.searched.skipped and not findings.searched.passed:
            message += " No input that satisfies the precondition was found; it may be vacuous."
    if findings.facts and findings.facts.contract == "implicit":
        message = f"{question.function} has no contract. {message}"
    return {
        "status": status,
        "counterexamples": examples,
        "paths_explored": findings.paths,
        "paths_verified": findings.paths_verified,
        "coverage_estimate": _coverage(findings),
        "confidence": _confidence(findings),
        "message": message,
    }


def _exception(source: Source, question: Question, findings: Findings) -> dict[str, Any]:
    _require_inputs(findings)
    inputs = []
    for failure in findings.failures:
        outcome = failure.call.outcomes[0]
        inputs.append(
            {
                **_counterexample(source, question, failure),
                "exception": outcome.text.removeprefix("raises "),
                "line": outcome.line,
                "stack_trace": outcome.stack,
            }
        )
    inputs.sort(key=lambda item: item["line"])
    name = f"{question.function} and {question.exception}"
    if inputs:
        status = "found"
        message = f"{name}: {len(inputs)} raise site(s) reached"
    elif findings.proof:
        status = "unreachable"
        message = f"{name}: no input leads there ({findings.proof})"
    else:
        status = "timeout"
        message = _why_open(findings)
    return {
        "status": status,
        "triggering_inputs": inputs,
        "paths_to_exception": len(inputs),
        "total_paths_explored": findings.paths,
        "confidence": _confidence(findings),
        "message": message,
    }


def _compare(source: Source, question: Question, findings: Findings) -> dict[str, Any]:
    _require_inputs(findings)
    difference = None
    if findings.failures:
        failure = findings.failures[0]
        results = [outcome.text for outcome in failure.call.outcomes]
        left = failure.call.mutated.get("arguments") or ["", ""]
        told = failure.call.violation
        if left[0]:
            told = f"{told}: {left[0]} against {left[1]}"
        elif results[0] == results[1]:
            told = f"{told} in type: {' and '.join(str(outcome.type) for outcome in failure.call.outcomes)}"
        difference = {
            **_counterexample(source, question, failure),
            "function_a_result": results[0],
            "function_b_result": results[1],
            "explanation": told,
        }
        status, message = "different", f"{question.function} and {question.other} differ: {told}"
    elif findings.proof:
        status = "equivalent"
        message = f"{question.function} and {question.other} do the same on every input ({findings.proof})"
    else:
        status, message = "timeout", _why_open(findings)
    return {
        "status": status,
        "distinguishing_input": difference,
        "paths_compared": findings.paths,
        "confidence": _confidence(findings),
        "message": message,
    }


def write_static(source: Source, question: Question) -> dict[str, Any]:
    """Branches by reading alone: what is constant is decided, everything else left open."""
    function = source.find_function(question.function)
    branches = list_branches(function)
    rows = []
    for branch in branches:
        known = branch.constant
        rows.append(
            {
                "line": branch.line,
                "condition": branch.condition,
                "true_reachable": None if known is None else known,
                "false_reachable": None if known is None else not known,
                "true_example": None,
                "false_example": None,
                "note": branch.kind if known is None else f"{branch.kind}; the condition is constant",
            }
        )
    return {
        "status": "complete",
        "branches": sorted(rows, key=lambda row: row["line"]),
        "total_branches": len(rows),
        "reachable_branches": len(rows),
        "dead_code_lines": find_dead_lines(function),
        "cyclomatic_complexity": count_complexity(function),
        "analysis_mode": "static",
        "message": "Read, not run: reachability is not known; ask with symbolic_reachability for witnesses",
        "assumptions": [],
        "engines": None,
    }


def _branches(source: Source, question: Question, findings: Findings) -> dict[str, Any]:
    function = source.find_function(question.function)
    examples: dict[tuple[int, bool], str] = {}
    for replay in findings.replays:
        text = replay.call.input.call_text
        for taken in replay.taken:
            known = examples.get(taken)
            if known is None or len(text) < len(known):
                examples[taken] = text
    rows = []
    for number, branch in enumerate(list_branches(function)):
        sides = [examples.get((number, side)) for side in (True, False)]
        reach = [True if example is not None else (False if findings.proof else None) for example in sides]
        rows.append(
            {
                "line": branch.line,
                "condition": branch.condition,
                "true_reachable": reach[0],
                "false_reachable": reach[1],
                "true_example": _as_call(question, sides[0]),
                "false_example": _as_call(question, sides[1]),
                "note": branch.kind
                + ("" if None not in reach else "; no witness found, not proved unreachable"),
            }
        )
    dead = set(find_dead_lines(function))
    if findings.proof:
        dead |= set(findings.measured.possible_lines) - set(findings.measured.lines)
    is_open = any(None in (row["true_reachable"], row["false_reachable"]) for row in rows)
    return {
        "status": "partial" if is_open else "complete",
        "branches": sorted(rows, key=lambda row: row["line"]),
        "total_branches": len(rows),
        "reachable_branches": sum(bool(row["true_reachable"] or row["false_reachable"]) for row in rows),
        "dead_code_lines": sorted(dead),
        "cyclomatic_complexity": count_complexity(function),
        "analysis_mode": "symbolic",
        "message": _why_open(findings) if is_open else "Every side has a witness or is proved unreachable",
    }


def _as_call(question: Question, arguments: str | None) -> str | None:
    return None if arguments is None else f"{question.function}({arguments})"
