"""Resources and prompts: what the server tells an agent about itself and how to use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultless.kit.toolset import Prompt, Resource
from faultless.servers.symbolic.inputs import CompareFunctions, FindPathToException, SymbolicCheck
from faultless.servers.symbolic.worker.faultless_symbolic_worker.protocol import (
    CHECK,
    COMPARE,
    EXCEPTION,
    KERNEL_LAYERS,
)
from faultless.servers.symbolic.worker.faultless_symbolic_worker.source import (
    ALLOWED_MODULES,
    BLOCKED_CALLS,
    BLOCKED_MODULES,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faultless.contract import Json
    from faultless.servers.symbolic.settings import Settings

INSTRUCTIONS = (
    "Ask whether Python code can fail (symbolic_check, find_path_to_exception), whether two functions are "
    "the same (compare_functions), which inputs reach which branch (analyze_branches). "
    "verified, unreachable and equivalent are proofs; counterexamples were run; timeout means not known."
)
_STATUS_WORDS: dict[str, Json] = {
    "verified": "proof: every path exhausted, every path's witness replayed in plain Python",
    "counterexample": "replayed in a fresh process; the reproduction is a failing test",
    "found": "each triggering input was replayed in a fresh process",
    "unreachable": "proof that no input raises it",
    "equivalent": "proof that no input tells the functions apart",
    "different": "the distinguishing input was replayed in a fresh process",
    "timeout": "not known; confidence high: every line and branch side was run and 1000 inputs agree, else "
    "partial",
}
_ANNOTATIONS = (
    "int", "bool", "float", "complex", "str", "bytes", "list", "dict", "set", "frozenset", "tuple",
    "Optional", "Union", "Literal", "dataclass", "Enum", "NamedTuple", "TypedDict", "datetime",
    "Decimal", "Fraction", "NewType", "classes",
)  # fmt: skip


def make_resources(settings: Settings) -> list[Resource]:
    security: dict[str, Json] = {
        "isolation_layers": list(KERNEL_LAYERS),
        "required_isolation": settings.isolation,
        "allowed_modules": [*sorted(ALLOWED_MODULES | set(settings.allow_imports))],
        "blocked_modules": [*sorted(BLOCKED_MODULES - set(settings.allow_imports))],
        "blocked_calls": [*sorted(BLOCKED_CALLS)],
        "reflection": "refused: code that can inspect its interpreter could forge its own verdict",
    }
    server: dict[str, Json] = {
        "memory_limit_mb": settings.memory_megabytes,
        "code_limit_kb": settings.code_kilobytes,
        "concurrent_requests": settings.slots,
        "default_timeout_seconds": {
            CHECK: SymbolicCheck.model_fields["timeout_seconds"].default,
            EXCEPTION: FindPathToException.model_fields["timeout_seconds"].default,
            COMPARE: CompareFunctions.model_fields["timeout_seconds"].default,
        },
    }
    capabilities: dict[str, Json] = {
        "contracts": ["PEP 316 docstrings", "assert", "icontract", "deal", "implicit"],
        "annotations": [*_ANNOTATIONS],
        "unsupported": [
            "async functions",
            "class invariants",
            "constrained type variables",
            "files, network, processes",
        ],
        "status_words": _STATUS_WORDS,
    }
    return [
        Resource(
            "config://security", "security", "What user code may do, and what stops it", lambda: security
        ),
        Resource("config://server", "server", "Limits this server runs with", lambda: server),
        Resource(
            "info://capabilities",
            "capabilities",
            "What can be analysed and what the words mean",
            lambda: capabilities,
        ),
    ]


def make_prompts() -> list[Prompt]:
    return [
        Prompt(
            "verify_function",
            "Prove a function's contract or find where it breaks",
            {"code": "Python source", "function_name": "the function to verify"},
            _verify,
        ),
        Prompt(
            "hunt_exceptions",
            "Find every way a function can raise an exception",
            {
                "code": "Python source",
                "function_name": "the function",
                "exception_type": "for example ValueError",
            },
            _hunt,
        ),
        Prompt(
            "check_refactoring",
            "Is the new version of a function the same as the old one?",
            {
                "code": "Python source with both versions",
                "function_a": "the old one",
                "function_b": "the new one",
            },
            _refactoring,
        ),
        Prompt(
            "cover_branches",
            "Write tests that take every branch of a function",
            {"code": "Python source", "function_name": "the function to cover"},
            _cover,
        ),
    ]


def _fence(arguments: Mapping[str, str]) -> str:
    return f"```python\n{arguments['code']}\n```"


def _verify(arguments: Mapping[str, str]) -> str:
    return (
        f"Call symbolic_check on `{arguments['function_name']}` in the code below. If it has no contract, "
        "first add one to its docstring (`pre:` and `post:` lines, `_` is the result) that says what it "
        "should do. On a counterexample, explain it and fix the code, keep the reproduction as a test, and "
        f"check again until it is verified or times out.\n\n{_fence(arguments)}"
    )


def _hunt(arguments: Mapping[str, str]) -> str:
    return (
        f"Call find_path_to_exception on `{arguments['function_name']}` for {arguments['exception_type']} "
        "in the code below. For each triggering input say whether the caller or the function is at fault, "
        "and propose the smallest fix. `timeout` is not `unreachable`: say so if that is the "
        f"answer.\n\n{_fence(arguments)}"
    )


def _refactoring(arguments: Mapping[str, str]) -> str:
    return (
        f"Call compare_functions on `{arguments['function_a']}` and `{arguments['function_b']}` in the code "
        "below. If they differ, show the distinguishing input with both results and say which side is "
        "right. Only call the refactoring safe if the answer is equivalent; with timeout, report its "
        f"confidence.\n\n{_fence(arguments)}"
    )


def _cover(arguments: Mapping[str, str]) -> str:
    return (
        f"Call analyze_branches on `{arguments['function_name']}` with symbolic_reachability true in the "
        "code below. Write one pytest test for each example it gives, asserting what the function should "
        "return there. List sides without a witness as open, and dead_code_lines as candidates for "
        f"removal.\n\n{_fence(arguments)}"
    )
