"""The command line of a run: always a list, only options that the tools' parameters stand for."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faultless.servers.pytest.inputs import DiscoverTests, ExecuteTests


def write_run(arguments: ExecuteTests, targets: Sequence[str]) -> list[str]:
    options = [
        *_select(arguments.markers, arguments.keywords),
        f"--color={'yes' if arguments.color else 'no'}",
    ]
    if arguments.verbosity:
        options.append(f"--verbosity={arguments.verbosity}")
    if arguments.failfast:
        options.append("--exitfirst")
    if arguments.maxfail is not None:
        options.append(f"--maxfail={arguments.maxfail}")
    if arguments.show_capture is not None or arguments.verbosity < 0:
        options.append(f"--show-capture={'all' if arguments.show_capture else 'no'}")
    if arguments.last_failed:
        options += ["--last-failed", "--last-failed-no-failures=none"]
    return [*options, *targets]


def write_discovery(arguments: DiscoverTests, targets: Sequence[str]) -> list[str]:
    options = [
        "--collect-only",
        "--quiet",
        "--color=no",
        "--maxfail=0",
        *_select(arguments.markers, arguments.keywords),
    ]
    if arguments.pattern is not None:
        options += ["-o", f"python_files={shlex.quote(arguments.pattern)}"]
    return [*options, *targets]


def _select(markers: str | None, keywords: str | None) -> list[str]:
    """Attached to their option, so that an expression that starts with a dash is not taken for one."""
    return [
        f"{option}{expression}"
        for option, expression in (("-m", markers), ("-k", keywords))
        if expression is not None
    ]
