"""One folder a server, all of one template; none imports another.

inputs     what a caller may ask, as models        settings   what the server was started with, every default
outputs    what it is answered                     rendering  answers for people, and which are bad news
toolset    build_toolset(settings) -> Toolset      doctor     diagnose(root): what works here, what is missing
faults     how each failure is put into words      commands   commands of its own, where it has any

The command line loads these modules by their names, each when it is needed.
"""

import importlib.util
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a server without importing it."""

    summary: str
    extra: str | None = None
    """The extra of the distribution that brings what it needs."""
    needs: tuple[str, ...] = ()
    """The modules it cannot do without."""
    has_commands: bool = False

    def find_missing(self) -> list[str]:
        """Those of its modules that are not installed."""
        return [module for module in self.needs if not _is_installed(module)]


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even its package
        return False


SERVERS: dict[str, Entry] = {
    "gmail": Entry(
        "Read, sort, draft and send the mail of one Gmail account. First: faultless login gmail.",
        extra="gmail",
        needs=("google.auth", "httpx2"),
    ),
    "obsidian": Entry(
        "Read, search, write and move the notes of an Obsidian vault without ever losing one.",
        extra="obsidian",
        needs=("ruamel.yaml", "yaml12", "regex"),
    ),
    "pytest": Entry("Run and discover a project's tests."),
    "symbolic": Entry(
        "Execute Python symbolically: check contracts, find exceptions, compare functions, reach branches.",
        extra="symbolic",
        needs=("crosshair", "z3"),
    ),
    "toolbox": Entry(
        "Serve a folder of scripts, Python functions, commands and mcbox tools.", has_commands=True
    ),
}
