"""Starts toolbox servers as real processes."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from faultless.kit.testing import WireClient

HERE = Path(__file__).parent
SPECIMEN = HERE / "specimen"
TOKEN = "hunter2-and-some-more"
_MCBOX = ("MCBOX_CONFIG_HOME", "MCBOX_LOG_LEVEL", "FAULTLESS_LOG_LEVEL", "OTEL_LOG_LEVEL")

Serve = Callable[..., WireClient]


def serve_command(folder: Path, root: Path, *options: str) -> list[str]:
    return [
        sys.executable,
        "-P",
        "-m",
        "faultless",
        "serve",
        "toolbox",
        str(folder),
        "--root",
        str(root),
        *options,
    ]


def environment(**extra: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _MCBOX}
    return kept | {"SPECIMEN_TOKEN": TOKEN} | extra


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(folder: Path, root: Path, *options: str, **extra: str) -> WireClient:
            return stack.enter_context(
                WireClient(serve_command(folder, root, *options), cwd=root, env=environment(**extra))
            )

        yield start


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder the tools of the specimen work in."""
    root = tmp_path_factory.mktemp("workplace")
    (root / "notes.txt").write_text("one\ntwo\n")
    (root / "imported-although-it-is-a-script").touch()
    return root


def copy_specimen(target: Path) -> Path:
    """The tools are kept under names that neither linters nor type checkers take for Python."""
    shutil.copytree(SPECIMEN, target)
    for path in target.glob("*.specimen"):
        path.rename(path.with_suffix(""))
    return target


@pytest.fixture(scope="session")
def specimen_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_specimen(tmp_path_factory.mktemp("toolbox") / "specimen")


@pytest.fixture(scope="module")
def specimen(specimen_folder: Path, workplace: Path) -> Iterator[WireClient]:
    with WireClient(serve_command(specimen_folder, workplace), cwd=workplace, env=environment()) as client:
        yield client.open("handshake")
