"""The truth set: code whose answer is known, read from the files in `truth/`.

Each file holds cases of one kind; a case starts with `=== name | category | ...` and ends at the next. Where
the known answer is bad news, the last field is an input that shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "truth"
KINDS = {
    "contracts_true": "verified",
    "contracts_false": "counterexample",
    "exceptions_reachable": "found",
    "exceptions_unreachable": "unreachable",
    "pairs_different": "different",
    "pairs_equivalent": "equivalent",
    "mutants_different": "different",
    "mutants_equivalent": "equivalent",
}
BAD_NEWS = {"counterexample", "found", "different"}


@dataclass(frozen=True)
class Case:
    kind: str
    name: str
    category: str
    code: str
    exception: str = ""
    witness: str | None = None

    @property
    def truth(self) -> str:
        return KINDS[self.kind]

    @property
    def tool(self) -> str:
        if self.kind.startswith("contracts"):
            return "symbolic_check"
        return "find_path_to_exception" if self.kind.startswith("exceptions") else "compare_functions"

    @property
    def arguments(self) -> dict[str, object]:
        if self.tool == "compare_functions":
            return {"code": self.code, "function_a": "a", "function_b": "b"}
        found: dict[str, object] = {"code": self.code, "function_name": "f"}
        return {**found, "exception_type": self.exception} if self.exception else found


def read_cases(kind: str) -> list[Case]:
    text = (FOLDER / f"{kind}.txt").read_text(encoding="utf-8")
    return [_read_case(kind, block) for block in text.split("=== ")[1:]]


def _read_case(kind: str, block: str) -> Case:
    head, code = block.split("\n", 1)
    name, category, *rest = [field.strip() for field in head.split(" | ")]
    exception = rest.pop(0) if kind.startswith("exceptions") else ""
    witness = " | ".join(rest) if rest else None
    if head.endswith(" |"):
        category, witness = category.removesuffix(" |"), ""
    return Case(kind, name, category, code, exception, witness)


def all_cases() -> list[Case]:
    return [case for kind in KINDS if (FOLDER / f"{kind}.txt").exists() for case in read_cases(kind)]
