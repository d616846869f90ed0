"""The five tools of the symbolic server: signatures and descriptions."""

from __future__ import annotations

import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultless.contract import Dialect
from faultless.kit.toolset import Call, Toolset
from faultless.servers.symbolic.answers import (
    AnalyzeBranches,
    BranchesAnswer,
    CheckAnswer,
    CompareAnswer,
    CompareFunctions,
    ExceptionAnswer,
    FindPathToException,
    HealthAnswer,
    Isolation,
    Nothing,
    SymbolicCheck,
)
from faultless.servers.symbolic.engine import Engine, Question, Settings
from faultless.servers.symbolic.guidance import INSTRUCTIONS, make_prompts, make_resources
from faultless.servers.symbolic.isolation import describe_layers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def make_toolset(settings: Settings) -> Toolset:
    engine = Engine(settings)
    toolset = Toolset(
        "symbolic",
        version=version("faultless"),
        dialect=Dialect.STATUS,
        instructions=INSTRUCTIONS,
        resources=make_resources(settings),
        prompts=make_prompts(),
    )
    declare = toolset.tool(read_only=True, idempotent=True, destructive=False, open_world=False)

    @declare
    async def symbolic_check(arguments: SymbolicCheck, call: Call) -> CheckAnswer:
        """Check a function against its contract: PEP 316 docstring, asserts, icontract or deal.

        `verified` is a proof: every path exhausted and replayed. `counterexample` was run again in a fresh
        process and comes with a failing pytest test. `timeout` means not known. Without a contract: does it
        raise anything undeclared, does it return the annotated type?
        """
        question = Question("check", arguments.function_name)
        return CheckAnswer(**await _ask(engine, call, question, arguments.code, arguments.timeout_seconds))

    @declare
    async def find_path_to_exception(arguments: FindPathToException, call: Call) -> ExceptionAnswer:
        """Find inputs that make a function raise an exception (or a subclass), one for each line that raises
        it.

        `unreachable` is a proof; `timeout` means not known.
        """
        question = Question("exception", arguments.function_name, exception=arguments.exception_type)
        return ExceptionAnswer(
            **await _ask(engine, call, question, arguments.code, arguments.timeout_seconds)
        )

    @declare
    async def compare_functions(arguments: CompareFunctions, call: Call) -> CompareAnswer:
        """Do two functions behave the same? Results, exception types, changes to arguments, and whether they
        end.

        `equivalent` is a proof; `different` comes with the input and both results; `timeout` means not known.
        """
        question = Question("compare", arguments.function_a, other=arguments.function_b)
        return CompareAnswer(**await _ask(engine, call, question, arguments.code, arguments.timeout_seconds))

    @declare
    async def analyze_branches(arguments: AnalyzeBranches, call: Call) -> BranchesAnswer:
        """List every branch of a function, its cyclomatic complexity and its dead lines.

        With symbolic_reachability each side gets an input that takes it, or is proved unreachable, or is
        left open (null).
        """
        question = Question("branches", arguments.function_name)
        static = not arguments.symbolic_reachability
        fields = await _ask(
            engine, call, question, arguments.code, arguments.timeout_seconds, is_static=static
        )
        return BranchesAnswer(**fields)

    @declare
    async def health_check(_arguments: Nothing) -> HealthAnswer:
        """Versions, memory in use, and the isolation user code runs under."""
        facts = await engine.facts()
        return HealthAnswer(
            status="healthy",
            version=version("faultless"),
            python_version=facts["python_version"],
            crosshair_version=facts["crosshair_version"],
            z3_version=facts["z3_version"],
            platform=f"{platform.system()} {platform.release()} {platform.machine()}",
            memory_usage_mb=_resident_megabytes("self") + _resident_megabytes(str(facts["pid"])),
            isolation=Isolation(**describe_layers(facts["layers"])),
        )

    return toolset


async def _ask(
    engine: Engine, call: Call, question: Question, code: str, seconds: float, *, is_static: bool = False
) -> dict[str, Any]:
    started = time.monotonic()
    report = _reporter(call, seconds, started)
    answer = await engine.ask(question, code, seconds, is_static=is_static, on_progress=report)
    return {**answer, "time_seconds": round(time.monotonic() - started, 4)}


def _reporter(call: Call, seconds: float, started: float) -> Callable[[dict[str, Any]], Awaitable[None]]:
    async def report(progress: dict[str, Any]) -> None:
        text = f"{progress['paths']} paths explored, {progress['inputs']} inputs tried"
        await call.report_progress(round(time.monotonic() - started, 1), seconds, text)

    return report


def _resident_megabytes(process: str) -> float:
    """0 where the system has no /proc."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    page_bytes = 4096
    return round(pages * page_bytes / 2**20, 1)
