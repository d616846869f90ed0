"""What the tools return."""

from __future__ import annotations

from operator import not_
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from faultless.kit.toolset import Answer
from faultless.servers.pytest.record import Outcome

_Seconds = Annotated[float, Field(ge=0)]
_Count = Annotated[int, Field(ge=0)]


class Summary(Answer):
    """total = passed + failed + skipped + errors"""

    total: _Count
    passed: _Count
    failed: _Count
    skipped: _Count
    errors: _Count
    duration: _Seconds
    not_run: Annotated[_Count, Field(default=0, exclude_if=not_)]
    """Collected, but the run stopped before them; only if any"""
    deselected: Annotated[_Count, Field(default=0, exclude_if=not_)]
    """By markers, keywords or last_failed; only if any"""


class SameCause(Answer):
    count: Annotated[int, Field(ge=1)]
    node_ids: list[str]
    """'test_a[{2..9}]' names all tests between; the last entry may count the rest"""


class TestResult(Answer):
    node_id: str
    outcome: Outcome
    duration: _Seconds
    message: str | None
    """Why it failed, was skipped, or passed against expectation"""
    traceback: str | None
    """Where, with captured output, or a note that it was left out; at verbosity 2 with the message in it"""
    same_cause: Annotated[SameCause | None, Field(default=None, exclude_if=not_)]
    """Further tests that failed in the same place with the same message (folded up to verbosity 0)"""


class CollectionError(Answer):
    file: str
    error_type: str
    message: str
    line: int | None
    traceback: str | None


class TestRun(Answer):
    exit_code: int
    """pytest's own: 0 all passed, 1 some failed, 5 no tests ran"""
    summary: Summary
    tests: list[TestResult]
    """Up to verbosity 0 only tests that did not pass"""
    json_report: dict[str, Any]
    text_output: str
    """What pytest printed and no other field says; at verbosity 2 all of it"""
    collection_errors: list[CollectionError]
    hint: Annotated[str | None, Field(default=None, exclude_if=not_)]
    """The next move, where there is one to name"""


class DiscoveredTest(Answer):
    model_config = ConfigDict(validate_by_alias=True)

    node_id: str
    module: str
    class_: Annotated[str | None, Field(alias="class")]
    function: str
    file: str
    line: int | None
    """Of the def, from 1"""
    markers: Annotated[list[str], Field(default_factory=list, exclude_if=lambda markers: not markers)]
    """Only where there are any"""


class Discovery(Answer):
    tests: list[DiscoveredTest]
    """Empty if compact"""
    node_ids: list[str]
    """Only if compact"""
    count: _Count
    """All tests that match, on this page or not"""
    next_offset: int | None
    """Where the next page starts"""
    collection_errors: list[CollectionError]
