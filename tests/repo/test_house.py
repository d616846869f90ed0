"""The rules of the house that no linter knows."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "base", "handler", "handlers", "misc"}
TESTS = sorted((ROOT / "tests").rglob("*.py"))
MAY_SLEEP = {
    "tests/waiting.py",  # the one place that looks again and again
    "tests/wire/specimen.py",  # a server whose tools take their time
}
PUBLIC_PACKAGES = [
    "faultless",
    "faultless.approval",
    "faultless.client",
    "faultless.contract",
    "faultless.outbox",
    "faultless.process",
    "faultless.testing",
]
WORKERS = {"worker", "target"}  # folders of code that runs in other interpreters
WORKER_SOURCES = [path for path in SOURCES if WORKERS & set(path.parts)]
WORKER_PACKAGES = {path.name for path in (ROOT / "src").rglob("faultless_*") if path.is_dir()}
WORKER_ENGINES = {"_pytest", "pluggy", "pytest", "crosshair", "z3", "icontract", "deal"}
LONGEST_FILE = 400


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def broad_excepts(source: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler):
            names = ast.unparse(node.type) if node.type else "BaseException"
            if re.search(r"\b(Base)?Exception\b", names) and not is_passed_on(node):
                yield node.lineno


def is_passed_on(handler: ast.ExceptHandler) -> bool:
    """Cleaning up and raising the same exception hides nothing."""
    return isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None


def tracked_files() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return listed.stdout.splitlines()


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_a_module_says_in_its_first_line_what_it_owns(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring
    assert len(docstring.splitlines()[0]) <= 110


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_a_file_stays_short_enough_to_know(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LONGEST_FILE


def test_no_module_has_a_vague_name() -> None:
    assert [relative(path) for path in SOURCES if {path.stem, path.parent.name} & VAGUE] == []


def test_unforeseen_exceptions_are_caught_in_few_places_and_each_says_why() -> None:
    for path in SOURCES:
        lines = path.read_text().splitlines()
        for number in broad_excepts("\n".join(lines)):
            assert re.search(r"# noqa: BLE001 - \w", lines[number - 1]) or WORKERS & set(path.parts), (
                f"{relative(path)}:{number}"
            )


def test_a_planted_broad_except_is_seen() -> None:
    assert list(broad_excepts("try:\n    pass\nexcept (ValueError, Exception):\n    pass\n")) == [3]
    assert list(broad_excepts("try:\n    pass\nexcept Exception:\n    clean()\n    raise\n")) == []


def calls_of_sleep(source: str) -> Iterator[int]:
    """Calls in the code itself; programs that a test writes may sleep as long as they like."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called == "sleep" or called.endswith(".sleep"):
                yield node.lineno


@pytest.mark.parametrize("path", TESTS, ids=relative)
def test_a_test_waits_for_a_condition_with_a_deadline_and_never_sleeps(path: Path) -> None:
    if relative(path) not in MAY_SLEEP:
        assert list(calls_of_sleep(path.read_text())) == []


def test_a_planted_sleep_of_any_library_is_seen() -> None:
    assert list(calls_of_sleep("import anyio\nanyio.sleep(1)\n")) == [2]
    assert list(calls_of_sleep("from time import sleep\nsleep(1)\n")) == [2]


def test_tests_do_not_mock() -> None:
    pattern = re.compile(r"unittest\.mock|MagicMock")
    own = Path(__file__)
    assert [relative(path) for path in TESTS if path != own and pattern.search(path.read_text())] == []


def imported_modules(source: str) -> Iterator[str]:
    """Of an import that really happens; relative ones stay in the package."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = [ast.Pass()]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""


@pytest.mark.parametrize("path", WORKER_SOURCES, ids=relative)
def test_a_worker_imports_nothing_of_the_house(path: Path) -> None:
    allowed = sys.stdlib_module_names | WORKER_PACKAGES | WORKER_ENGINES
    foreign = {name.split(".")[0] for name in imported_modules(path.read_text())} - allowed
    assert foreign == set()


@pytest.mark.parametrize("room", ["process/target", "pytest/worker", "symbolic/worker", "toolbox/worker"])
def test_every_room_that_runs_elsewhere_is_held_to_that(room: str) -> None:
    assert any(f"/{room}/" in path.as_posix() for path in WORKER_SOURCES)


def test_a_planted_import_of_the_house_is_seen_and_one_for_types_is_not() -> None:
    assert list(imported_modules("from faultless.kit import log\n")) == ["faultless.kit"]
    assert list(imported_modules("if TYPE_CHECKING:\n    from faultless.kit import log\n")) == []


def test_nothing_names_a_registry_or_a_machine() -> None:
    pattern = re.compile(
        r"pypi\.org/simple|files\.pythonhosted|registry\.npmjs|--index-url|--find-links|/work/|/tmp/wt|/tmp/lab"
    )
    kept = [
        name for name in tracked_files() if name not in {"tests/repo/test_house.py", "requirements/lock.py"}
    ]
    found = [
        name
        for name in kept
        if (ROOT / name).is_file() and pattern.search((ROOT / name).read_text(errors="replace"))
    ]
    assert found == []


def test_pinned_requirements_have_hashes() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        for block in re.split(r"\n(?=\S)", path.read_text().strip()):
            if not block.startswith("#"):
                assert "--hash=sha256:" in block, f"{path.name}: {block.splitlines()[0]}"


def test_the_readme_is_one_page() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def bound_names(source: str) -> set[str]:
    """Public names that a package's own code binds, but for its helpers from other libraries."""
    bound: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("faultless"):
            bound |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.If):
            bound |= bound_names("\n".join(ast.unparse(inner) for inner in node.body))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bound |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in bound if not name.startswith("_")}


@pytest.mark.parametrize("name", PUBLIC_PACKAGES)
def test_a_public_package_exports_exactly_what_it_lists(name: str) -> None:
    module = importlib.import_module(name)
    assert [entry for entry in module.__all__ if not hasattr(module, entry)] == []
    assert bound_names(Path(str(module.__file__)).read_text()) == set(module.__all__)
    assert len(module.__all__) == len(set(module.__all__))


def test_a_planted_name_that_is_not_listed_is_seen() -> None:
    planted = "from faultless.contract import Fault as Hidden\n__all__ = []\ndef shown(): ...\n"
    assert bound_names(planted) == {"Hidden", "shown"}
