"""Whose bug an unforeseen exception is: this house's, or that of the server's author."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

import anyio
import mcp
import pydantic

from faultless.kit.results import UnfitAnswerError

_HOUSE = str(Path(__file__).parents[1])
# What may stand between the boundary and the code that a tool is made of.
_PASSED_THROUGH = (
    str(Path(__file__).parent),
    *(str(Path(str(library.__file__)).parent) for library in (anyio, mcp, pydantic)),
    "<frozen",
)
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")


def blame_author(unforeseen: BaseException, tool: str | None) -> str | None:
    """What the author's code did, in words that give nothing away; None if it is our own doing."""
    if isinstance(unforeseen, UnfitAnswerError):
        return str(unforeseen)
    frames = traceback.extract_tb(unforeseen.__traceback__)
    inner = [frame for frame in frames if not _is_passed_through(frame.filename)]
    if not inner and unforeseen.__cause__:  # what a thread raised may have been raised anew
        return blame_author(unforeseen.__cause__, tool)
    if not inner or inner[0].filename.startswith(_HOUSE):
        return None
    # A library the author uses may have raised; the last line of the author's own folder led there.
    folder = Path(inner[0].filename).parent
    last = [frame for frame in inner if Path(frame.filename).parent == folder][-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    return f"{tool or inner[0].name} raised {type(unforeseen).__name__} at {where}"


def _is_passed_through(filename: str) -> bool:
    is_standard = filename.startswith(_STANDARD_LIBRARY) and "-packages" not in filename
    return is_standard or filename.startswith(_PASSED_THROUGH)
