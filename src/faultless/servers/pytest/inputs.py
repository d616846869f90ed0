"""What the tools accept. Whatever needs the project's folder to be judged is judged in `command`."""

from __future__ import annotations

import fnmatch
import re
from functools import partial
from typing import Annotated, Any, Self

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from faultless.kit.toolset import Arguments
from faultless.servers.pytest.expressions import check_expression

_NODE_IDS_AT_MOST = 2000
_TEXT_AT_MOST = 20_000  # ids of parametrised tests can be long
_DISCOVERY_LIMIT = 500


def _check_glob(text: str) -> str:
    if text.count("[") != text.count("]") or re.search(r"\[\]|\[!\]", text):
        raise ValueError("not a glob pattern: unbalanced or empty brackets")
    if text.startswith(("/", "-")) or ".." in text.split("/"):
        raise ValueError("not a file name pattern: it may not start with '/' or '-' nor contain '..'")
    if "\0" in text or "\n" in text:
        raise ValueError("not a file name pattern: it holds a NUL or a line end")
    re.compile(fnmatch.translate(text))
    return text


def _advertise_plainly(schema: dict[str, Any]) -> None:
    """Null is tolerated for "not given", but not worth the tokens of saying so."""
    for rule in schema["properties"].values():
        rule.update(next((option for option in rule.pop("anyOf", ()) if option.get("type") != "null"), {}))
        if rule.get("default", ...) is None:
            del rule["default"]


_PLAIN = ConfigDict(json_schema_extra=_advertise_plainly)

_Text = Annotated[str, StringConstraints(min_length=1, max_length=_TEXT_AT_MOST)]
_Markers = Annotated[_Text, AfterValidator(partial(check_expression, allows_arguments=True))]
_Keywords = Annotated[_Text, AfterValidator(partial(check_expression, allows_arguments=False))]
_Glob = Annotated[_Text, AfterValidator(_check_glob)]


class ExecuteTests(Arguments):
    model_config = _PLAIN

    node_ids: Annotated[list[_Text], Field(max_length=_NODE_IDS_AT_MOST)] | None = None
    """Specific test node IDs to execute (e.g., 'tests/test_user.py::test_login'); files and folders too"""
    markers: _Markers | None = None
    """Pytest marker expression for filtering (e.g., 'not slow and integration')"""
    keywords: _Keywords | None = None
    """Keyword expression for test name matching (e.g., 'test_user')"""
    verbosity: Annotated[int, Field(ge=-2, le=2)] = 0
    """Output verbosity level: -2 (quietest) to 2 (most verbose); from 1 on with passing tests and warnings"""
    failfast: bool = False
    """Stop execution on first failure"""
    maxfail: Annotated[int, Field(ge=1)] | None = None
    """Stop execution after N failures"""
    show_capture: bool | None = None
    """Include captured stdout/stderr of failing tests (default: yes from verbosity 0 on)"""
    timeout: Annotated[int, Field(ge=1)] | None = None
    """Execution timeout in seconds"""
    last_failed: bool = False
    """Run only the tests that failed last time; if none did, run nothing"""
    json_report: bool = False
    """Also return every phase of every test, in the shape of pytest-json-report"""
    color: bool = False
    """Keep ANSI colour codes in text_output"""

    @model_validator(mode="after")
    def _exclude_each_other(self) -> Self:
        if self.failfast and self.maxfail is not None:
            raise ValueError("failfast and maxfail exclude each other (failfast is maxfail 1)")
        return self


class DiscoverTests(Arguments):
    model_config = _PLAIN

    path: _Text | None = None
    """Directory or file path to discover tests within (default: project root)"""
    pattern: _Glob | None = None
    """Test file pattern (default: the project's own, else 'test_*.py' or '*_test.py')"""
    markers: _Markers | None = None
    """Pytest marker expression for filtering"""
    keywords: _Keywords | None = None
    """Keyword expression for test name matching"""
    limit: Annotated[int, Field(ge=1, le=10_000)] = _DISCOVERY_LIMIT
    """How many tests to return at most"""
    offset: Annotated[int, Field(ge=0)] = 0
    """How many tests to pass over first: next_offset of the answer before"""
    compact: bool = False
    """Return node ids only, in node_ids"""
