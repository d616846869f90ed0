"""One pair of functions, given to hypothesis the way its ghostwriter does; run in the peers' environment.

`python symbolic_peer.py BACKEND FILE` prints `different` or `same`; FILE defines `a` and `b`.
"""

import importlib.util
import inspect
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

EXAMPLES = {"hypothesis": 100, "crosshair": 1000}


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("specimen", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["specimen"] = module
    spec.loader.exec_module(module)
    return module


def outcome(function: Callable[..., Any], arguments: dict[str, Any]) -> object:
    try:
        result = function(*arguments.values())
    except Exception as error:  # noqa: BLE001 - the outcome of the specimen
        return type(error)
    return list(result) if hasattr(result, "__next__") else result


def main() -> None:
    backend, path = sys.argv[1], Path(sys.argv[2])
    module = load(path)
    hints = typing.get_type_hints(module.a)
    names = list(inspect.signature(module.a).parameters)
    strategies = {name: st.from_type(hints[name]) for name in names}

    @settings(
        backend=backend,
        max_examples=EXAMPLES[backend],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(st.fixed_dictionaries(strategies))
    def agree(arguments: dict[str, Any]) -> None:
        assert outcome(module.a, dict(arguments)) == outcome(module.b, dict(arguments))

    try:
        agree()
    except Exception:  # noqa: BLE001 - whatever hypothesis raises is its report
        print("different")
    else:
        print("same")


if __name__ == "__main__":
    main()
