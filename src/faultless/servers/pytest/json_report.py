"""Every phase of every test, in the shape that pytest-json-report made known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from faultless.contract.text import replace_surrogates
from faultless.servers.pytest.rows import make_row

if TYPE_CHECKING:
    from faultless.servers.pytest.outputs import Summary
    from faultless.servers.pytest.record import Phase, Record, Test


def write_json_report(record: Record, summary: Summary, exit_code: int) -> dict[str, Any]:
    worker = record.worker or {}
    return {
        "duration": summary.duration,
        "exitcode": exit_code,
        "environment": {"Python": worker.get("python"), "pytest": worker.get("pytest")},
        "summary": {
            "passed": summary.passed,
            "failed": summary.failed,
            "skipped": summary.skipped,
            "error": summary.errors,
            "total": summary.total,
            "collected": len(record.planned) + record.deselected,
            "deselected": record.deselected,
        },
        "tests": [_write_test(test) for test in record.tests],
        "warnings": [_clean_texts(warning) for warning in record.warnings],
    }


def _write_test(test: Test) -> dict[str, Any]:
    phases = {phase.name: _write_phase(phase) for phase in test.phases if phase.subtest is None}
    subtests = [
        {"description": phase.subtest, **_write_phase(phase)}
        for phase in test.phases
        if phase.subtest is not None
    ]
    written = {"nodeid": replace_surrogates(test.node_id), "outcome": make_row(test).outcome.value, **phases}
    return (
        written
        | ({"subtests": subtests} if subtests else {})
        | ({"reruns": test.reruns} if test.reruns else {})
    )


def _write_phase(phase: Phase) -> dict[str, Any]:
    written: dict[str, Any] = {"duration": round(phase.duration, 6), "outcome": phase.outcome}
    if phase.message is not None:
        written["message"] = replace_surrogates(phase.message)
    if phase.frame is not None:
        written["crash"] = {"path": phase.frame[0], "lineno": phase.frame[1]}
    if phase.text is not None:
        written["longrepr"] = replace_surrogates(phase.text)
    if phase.sections:
        written["sections"] = [[name, replace_surrogates(text)] for name, text in phase.sections]
    return written


def _clean_texts(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: replace_surrogates(value) if isinstance(value, str) else value for name, value in fields.items()
    }
