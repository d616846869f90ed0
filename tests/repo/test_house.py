"""The rules of the house that no linter knows."""

import ast
import importlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "base", "handler", "handlers", "misc"}
WORKERS = "worker"
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
            assert re.search(r"# noqa: BLE001 - \w", lines[number - 1]) or WORKERS in path.parts, (
                f"{relative(path)}:{number}"
            )


def test_a_planted_broad_except_is_seen() -> None:
    assert list(broad_excepts("try:\n    pass\nexcept (ValueError, Exception):\n    pass\n")) == [3]
    assert list(broad_excepts("try:\n    pass\nexcept Exception:\n    clean()\n    raise\n")) == []


def test_tests_neither_mock_nor_sleep() -> None:
    pattern = re.compile(r"unittest\.mock|MagicMock|\btime\.sleep\(")
    allowed = {"tests/repo/test_house.py", "tests/wire/specimen.py"}
    found = [
        relative(path)
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if relative(path) not in allowed and pattern.search(path.read_text())
    ]
    assert found == []


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


@pytest.mark.parametrize("name", ["faultless", "faultless.client", "faultless.contract", "faultless.process"])
def test_a_public_package_exports_exactly_what_it_lists(name: str) -> None:
    module = importlib.import_module(name)
    exported = [entry for entry in module.__all__ if not hasattr(module, entry)]
    assert exported == []
    assert sorted(module.__all__, key=str.swapcase) == sorted(set(module.__all__), key=str.swapcase)
