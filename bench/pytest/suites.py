"""Public packages whose tests ship with their source: fetched once, pinned in requirements/suites*.txt."""

import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from bench.peers import PEERS, ROOT, environment

SDISTS = PEERS / "sdists"
PINNED = "requirements/suites.txt"
MORE_PINNED = "requirements/suites-more.txt"
CONFIGS = {".toml", ".cfg", ".ini"}
MARKS = ["[tool.pytest", "[pytest]", "[tool:pytest]"]


@dataclass(frozen=True)
class Suite:
    name: str
    tests: str
    """The folder that holds them, or several paths."""
    one: str = ""
    """A single test, for the time of one call."""
    pinned: str = PINNED
    """With what the tests need."""

    @property
    def python(self) -> Path:
        return environment(Path(self.pinned).stem, self.pinned)

    @property
    def version(self) -> str:
        text = (ROOT / self.pinned).read_text()
        (found,) = re.findall(rf"^{re.escape(self.name)}==([^\s;]+)", text, re.MULTILINE)
        return str(found)


_PACKAGING = "tests/test_markers.py tests/test_requirements.py tests/test_tags.py tests/test_metadata.py"
"""All 62,000 would be most of the time that all suites take."""
SUITES = [
    Suite("packaging", _PACKAGING, "tests/test_version.py::TestVersion::test_version_hash"),
    Suite("attrs", "tests", "tests/test_setattr.py::TestSetAttr::test_change"),
    Suite("click", "tests", "tests/test_basic.py::test_basic_functionality"),
    Suite("jinja2", "tests", "tests/test_api.py::TestExtendedAPI::test_item_and_attribute"),
    Suite("pluggy", "testing", "testing/test_hookcaller.py"),
    Suite("more-itertools", "tests", "tests/test_recipes.py::TakeTests"),
]
_WERKZEUG = "tests/middleware tests/sansio tests/test_debug.py tests/test_http.py tests/test_wrappers.py"
MORE_SUITES = [
    Suite("werkzeug", _WERKZEUG, pinned=MORE_PINNED),
    Suite("httpcore", "tests/_sync tests/test_api.py tests/test_models.py", pinned=MORE_PINNED),
    Suite("python-dateutil", "tests", pinned=MORE_PINNED),
    Suite("networkx", "networkx/classes", pinned=MORE_PINNED),
    Suite("anyio", "tests/streams", pinned=MORE_PINNED),
    Suite("sqlalchemy", "test/base", pinned=MORE_PINNED),
]
"""With plugins, warnings as errors, servers and databases of their own; some in part. Werkzeug's tests of its
development server hang under plain pytest already."""

ITSDANGEROUS = Suite("itsdangerous", "tests", "tests/test_itsdangerous/test_signer.py")
"""About 300 tests, for the time of a suite of that size."""


def fetch(suite: Suite) -> Path:
    """The unpacked source."""
    version = suite.version
    folder = SDISTS / f"{suite.name}-{version}"
    if not folder.exists():
        SDISTS.mkdir(parents=True, exist_ok=True)
        wanted = f"{suite.name}=={version}"
        command = [
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            suite.name,
            "--dest",
            SDISTS,
            wanted,
        ]
        subprocess.run([sys.executable, *map(str, command)], check=True)
        (archive,) = SDISTS.glob(f"{suite.name.replace('-', '?')}-{version}.tar.gz")
        with tarfile.open(archive) as opened:
            opened.extractall(SDISTS, filter="data")
        (SDISTS / archive.name.removesuffix(".tar.gz")).rename(folder)
        if not any(
            mark in path.read_text()
            for path in folder.glob("*.*")
            for mark in MARKS
            if path.suffix in CONFIGS
        ):
            (folder / "pytest.ini").write_text(
                "[pytest]\n"
            )  # else the repository around .bench would be its root
    return folder
