"""One specimen given to hypothesis; run in the peers' environment, in the folder of `specimen.py`.

`python -P symbolic_peer.py HOW BACKEND` prints the arguments of the failing call as JSON, or null.

equivalent   what hypothesis' ghostwriter writes to compare `a` and `b`
fuzz         what it writes to see whether `f` raises
property     the contract of `f` written by hand: its preconditions assumed, its postconditions asserted
"""

import ast
import json
import sys
from collections.abc import Callable
from typing import Any

import specimen
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import ghostwriter

EXAMPLES = {"hypothesis": 1000, "crosshair": 100}
"""The second is hypothesis' own default: each example is a path for the solver."""
_MARK = "Failing test case: "


def write_equivalent() -> Callable[[], None]:
    return load(ghostwriter.equivalent(specimen.a, specimen.b, allow_same_errors=True))


def write_fuzz() -> Callable[[], None]:
    return load(ghostwriter.fuzz(specimen.f))


def load(source: str) -> Callable[[], None]:
    namespace: dict[str, Any] = {"__name__": "ghostwritten"}
    exec(source, namespace)
    return next(value for name, value in namespace.items() if name.startswith("test_"))


def write_property() -> Callable[[], None]:
    hints = dict(specimen.f.__annotations__)
    hints.pop("return", None)

    @given(**{name: st.from_type(hint) for name, hint in hints.items()})
    def test_contract(**arguments: Any) -> None:
        scope = {**vars(specimen), **arguments}
        assume(all(eval(clause, scope) for clause in clauses("pre")))
        scope["_"] = scope["__return__"] = specimen.f(**arguments)
        assert all(eval(clause, scope) for clause in clauses("post"))

    return test_contract


def clauses(word: str) -> list[str]:
    lines = [line.strip() for line in (specimen.f.__doc__ or "").splitlines()]
    return [line.partition(":")[2].strip() for line in lines if line.startswith(f"{word}:")]


def find_failure(test: Callable[[], None]) -> str | None:
    try:
        test()
    except BaseException as error:
        notes = "\n".join(getattr(error, "__notes__", []))
        if _MARK not in notes:  # no counterexample, but a test that cannot be run
            raise
        return arguments_in(notes.partition(_MARK)[2])
    return None


def arguments_in(text: str) -> str | None:
    """The arguments of the call the text begins with."""
    for end in (index for index, letter in enumerate(text) if letter == ")"):
        try:
            call = ast.parse(text[: end + 1], mode="eval").body
        except SyntaxError:
            continue
        if isinstance(call, ast.Call):
            parts = [ast.unparse(part) for part in call.args]
            return ", ".join([*parts, *(f"{part.arg}={ast.unparse(part.value)}" for part in call.keywords)])
    return None


def main() -> None:
    how, backend = sys.argv[1:]
    settings.register_profile(
        "bench",
        backend=backend,
        max_examples=EXAMPLES[backend],
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("bench")
    write = {"equivalent": write_equivalent, "fuzz": write_fuzz, "property": write_property}[how]
    sys.stdout.write(f"\n{json.dumps(find_failure(write()))}\n")


if __name__ == "__main__":
    main()
