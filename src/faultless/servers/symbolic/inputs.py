"""What may be asked of the five tools: the field names are the source document's."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from faultless.kit.toolset import Arguments

Code = Annotated[
    str, Field(min_length=1, description="Python source that defines the function; self-contained")
]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*$")]
Seconds = Annotated[float, Field(ge=1, le=600, description="Wall-clock limit of the analysis")]


class SymbolicCheck(Arguments):
    code: Code
    function_name: Name
    """A function, or a method as Class.method."""
    timeout_seconds: Seconds = 30


class FindPathToException(Arguments):
    code: Code
    function_name: Name
    """A function, or a method as Class.method."""
    exception_type: Name
    """Built in, defined in the code, or dotted (decimal.InvalidOperation); subclasses match."""
    timeout_seconds: Seconds = 30


class CompareFunctions(Arguments):
    code: Code
    function_a: Name
    function_b: Name
    timeout_seconds: Seconds = 60


class AnalyzeBranches(Arguments):
    code: Code
    function_name: Name
    timeout_seconds: Seconds = 30
    symbolic_reachability: bool = False
    """False: read the code only. True: run it, and give an input for each side of each branch."""


class Nothing(Arguments):
    """No arguments."""
