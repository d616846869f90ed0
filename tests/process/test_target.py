"""What runs in other interpreters sees nothing of the house, and they see nothing of it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from faultless.process.launcher import LOAD_TARGET, TARGET_PATH

MODULES = sorted(Path(TARGET_PATH).glob("*.py"))
LOOK = f"""{LOAD_TARGET}
before = list(sys.path)
import faultless_target.warden, faultless_target.warm_parent
assert sys.path == before
print(*sorted(name for name in sys.modules if name.partition(".")[0] not in sys.stdlib_module_names))
"""


def test_it_is_loaded_alone_and_without_a_path() -> None:
    command = [sys.executable, "-I", "-S", "-c", LOOK, TARGET_PATH]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    ours = {f"faultless_target.{path.stem}" for path in MODULES if path.stem != "__init__"}
    assert set(found) - {"__main__"} == ours | {"faultless_target"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_it_imports_the_standard_library_and_itself_only(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {
        node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 0
    }
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names
