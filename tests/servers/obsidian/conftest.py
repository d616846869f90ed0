"""Vaults for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.obsidian.session import Session, copy_example


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Session]:
    """A vault without a note."""
    (tmp_path / "vault").mkdir()
    session = Session(tmp_path / "vault")
    yield session
    session.close()


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Session]:
    """A vault as people keep them: folders, attachments, a canvas, aliases, umlauts."""
    session = Session(copy_example(tmp_path))
    yield session
    session.close()
