"""The five tools of the symbolic server: signatures and descriptions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

from faultless.contract import Dialect
from faultless.kit.toolset import Call, Toolset
from faultless.process import resident_bytes
from faultless.servers.symbolic.engine import Engine
from faultless.servers.symbolic.guidance import INSTRUCTIONS, make_prompts, make_resources
from faultless.servers.symbolic.inputs import (
    AnalyzeBranches,
    CompareFunctions,
    FindPathToException,
    Nothing,
    SymbolicCheck,
)
from faultless.servers.symbolic.outputs import (
    BranchesAnswer,
    CheckAnswer,
    CompareAnswer,
    ExceptionAnswer,
    HealthAnswer,
    Isolation,
)
from faultless.servers.symbolic.settings import Settings
from faultless.servers.symbolic.worker.faultless_symbolic_worker.protocol import (
    BRANCHES,
    CHECK,
    COMPARE,
    EXCEPTION,
    Question,
    describe_layers,
)


def build_toolset(settings: Settings) -> Toolset:
    engine = Engine(settings)
    toolset = Toolset(
        "faultless-symbolic",
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
        question = Question(CHECK, arguments.function_name)
        return CheckAnswer(**await engine.ask(question, arguments.code, arguments.timeout_seconds, call))

    @declare
    async def find_path_to_exception(arguments: FindPathToException, call: Call) -> ExceptionAnswer:
        """Find inputs that make a function raise an exception (or a subclass), one for each line that raises
        it.

        `unreachable` is a proof; `timeout` means not known.
        """
        question = Question(EXCEPTION, arguments.function_name, exception=arguments.exception_type)
        return ExceptionAnswer(**await engine.ask(question, arguments.code, arguments.timeout_seconds, call))

    @declare
    async def compare_functions(arguments: CompareFunctions, call: Call) -> CompareAnswer:
        """Do two functions behave the same? Results, exception types, changes to arguments, and whether they
        end.

        `equivalent` is a proof; `different` comes with the input and both results; `timeout` means not known.
        """
        question = Question(COMPARE, arguments.function_a, other=arguments.function_b)
        return CompareAnswer(**await engine.ask(question, arguments.code, arguments.timeout_seconds, call))

    @declare
    async def analyze_branches(arguments: AnalyzeBranches, call: Call) -> BranchesAnswer:
        """List every branch of a function, its cyclomatic complexity and its dead lines.

        With symbolic_reachability each side gets an input that takes it, or is proved unreachable, or is
        left open (null).
        """
        question = Question(BRANCHES, arguments.function_name)
        is_static = not arguments.symbolic_reachability
        answer = await engine.ask(
            question, arguments.code, arguments.timeout_seconds, call, is_static=is_static
        )
        return BranchesAnswer(**answer)

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
            memory_usage_mb=round((resident_bytes(os.getpid()) + facts["parent_bytes"]) / 2**20, 1),
            isolation=Isolation(**describe_layers(facts["layers"])),
        )

    return toolset
