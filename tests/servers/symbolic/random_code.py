"""Random small programs: some sensible, many broken, some endless."""

from __future__ import annotations

import random

TYPES = [
    "int",
    "bool",
    "str",
    "float",
    "list[int]",
    "dict[str, int]",
    "int | None",
    "bytes",
    "Unknown",
    "set[int]",
]
EXPRESSIONS = [
    "x", "x + 1", "x * x", "x[0]", "len(x)", "x / 0", "str(x)", "sorted(x)", "x.upper()", "f(x)", "[x] * 3", "undefined",
    "10 ** 10 ** 8", "'a' * 10 ** 9", "list(range(10 ** 9))", "x if x else None", "x == 42", "sum(x)", "int(x)", "x ^ 5",
]  # fmt: skip
STATEMENTS = [
    "if x: y = 1",
    "while True: pass",
    "while x: x = x",
    "for i in range(10): y = i",
    "for i in x: y = i",
    "raise ValueError(x)",
    "assert x",
    "assert x != 7",
    "try:\n        y = {e}\n    except Exception:\n        y = 0",
    "y = {e}",
    "x = {e}",
    "x.append({e})",
    "import os",
    "import math; y = math.sqrt(2)",
    "print('x' * 100000)",
    "def g(): return g()\n    g()",
    "y = (i for i in range(3))",
    "return (",
]
DOCSTRINGS = ['"""post: _ is None"""', '"""post: True"""', '"""pre: x"""', '"""post: _ >"""', "", "", ""]


def write_function(name: str, rng: random.Random) -> str:
    body = [rng.choice(DOCSTRINGS)]
    body += [rng.choice(STATEMENTS).replace("{e}", rng.choice(EXPRESSIONS)) for _ in range(rng.randint(0, 3))]
    body.append(f"return {rng.choice(EXPRESSIONS)}")
    lines = "\n    ".join(part for part in body if part)
    return f"def {name}(x: {rng.choice(TYPES)}):\n    {lines}\n"


def write_request(rng: random.Random, seconds: float) -> tuple[str, dict[str, object]]:
    code = f"{write_function('f', rng)}\n{write_function('g', rng)}"
    base: dict[str, object] = {"code": code, "timeout_seconds": seconds}
    roll = rng.randrange(4)
    if roll == 0:
        return "symbolic_check", {**base, "function_name": "f"}
    if roll == 1:
        wanted = rng.choice(["ValueError", "TypeError", "Exception", "Missing"])
        return "find_path_to_exception", {**base, "function_name": "f", "exception_type": wanted}
    if roll == 2:
        return "compare_functions", {**base, "function_a": "f", "function_b": "g"}
    return "analyze_branches", {**base, "function_name": "f", "symbolic_reachability": rng.random() < 0.5}
