"""A program to run warm, and a pool of parents for it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from faultless.process.warm import Pool

PROGRAM = """
import json, os, sys, signal, threading, random, gc
answer = eval(sys.stdin.read())
sys.stdout.write(json.dumps(answer, default=repr))
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a program that evaluates what it reads."""
    (tmp_path / "evaluate.py").write_text(PROGRAM)
    return tmp_path


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    pool = Pool()
    yield pool
    pool.close()
