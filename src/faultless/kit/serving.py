"""`serve(toolset)` at the end of a file: it serves where the file is run, and waits where it is only read."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faultless.kit.toolset import Toolset

_read_only_files = 0


def serve(toolset: Toolset, **options: Any) -> None:  # noqa: ANN401 - those of `faultless.kit.stdio.serve`
    """Serve on standard input and output until the client leaves, then end the process.

    Does nothing in a file that `faultless serve file.py:toolset` or another command reads: the command
    serves what the file defines, with its own options.
    """
    if _read_only_files:
        return
    from faultless.kit import stdio  # noqa: PLC0415 - the SDK takes long, and who only reads the file need not wait

    stdio.serve(toolset, **options)


@contextmanager
def reading_file() -> Iterator[None]:
    """While a file is read for what it defines, nothing in it serves."""
    global _read_only_files  # noqa: PLW0603 - one process reads one file
    _read_only_files += 1
    try:
        yield
    finally:
        _read_only_files -= 1
