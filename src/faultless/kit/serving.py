"""`serve(toolset)` at the end of a file: it serves where the file is run, and not where it is imported."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

if TYPE_CHECKING:
    from types import FrameType

    from faultless.kit.toolset import Toolset


class ServeOptions(TypedDict, total=False):
    """What `serve` may be told; `faultless serve` has options for the same."""

    faults: Literal["native", "result"]
    """native: in the toolset's dialect; result: always as isError results."""
    debug: bool
    """Adds tracebacks to internal faults."""
    max_frame_bytes: int
    """Longer messages are refused; 4 MiB by default."""
    drain_seconds: float
    """How long running calls may go on after the client closed our input; 10 by default."""


def serve(toolset: Toolset, **options: Unpack[ServeOptions]) -> None:
    """Serve on standard input and output until the client leaves, then end the process.

    Does nothing while a file is imported, by a test or by `faultless call file.py:toolset`: those want what
    the file defines, and a server would take their input and output from them.
    """
    if _is_importing(inspect.currentframe()):
        return
    from faultless.kit import stdio  # noqa: PLC0415 - the SDK takes long, and who only imports need not wait

    stdio.serve(toolset, **options)


def _is_importing(frame: FrameType | None) -> bool:
    """Whether the body of a module that is not the program itself is running."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
            return True
        frame = frame.f_back
    return False
