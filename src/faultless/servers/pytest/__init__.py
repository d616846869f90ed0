"""Run and discover a project's tests so that the answer cannot be misread."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from faultless.kit.toolset import ServerKind

if TYPE_CHECKING:
    from rich.console import RenderableType

    from faultless.kit.toolset import Check, Toolset

__all__ = ["server"]

_SECONDS = click.IntRange(min=1)


def _build(root: Path, options: dict[str, Any]) -> Toolset:
    from faultless.kit import process  # noqa: PLC0415 - the command line loads every server's kind
    from faultless.kit.root import Root  # noqa: PLC0415 - as above
    from faultless.kit.warm import Pool  # noqa: PLC0415 - as above
    from faultless.servers.pytest.project import Project  # noqa: PLC0415 - as above
    from faultless.servers.pytest.toolset import build_toolset  # noqa: PLC0415 - as above

    process.get_ready()
    python = options.get("python")
    return build_toolset(
        Project(
            root=Root(root),
            python=None if python is None else python.absolute(),
            timeout_seconds=options["timeout"],
            max_timeout_seconds=options["max_timeout"],
            pool=None if options["cold"] else Pool(idle_seconds=60.0 * options["idle_minutes"]),
        )
    )


def _is_bad_news(tool: str, answer: dict[str, Any]) -> bool:
    from faultless.servers.pytest.rendering import is_bad_news  # noqa: PLC0415 - as above

    return is_bad_news(tool, answer)


def _render(tool: str, answer: dict[str, Any]) -> RenderableType:
    from faultless.servers.pytest.rendering import render  # noqa: PLC0415 - as above

    return render(tool, answer)


def _diagnose(root: Path) -> list[Check]:
    from faultless.servers.pytest.diagnosis import diagnose  # noqa: PLC0415 - as above

    return diagnose(root)


server = ServerKind(
    name="pytest",
    summary="Run and discover a project's tests.",
    build=_build,
    options=(
        click.Option(
            ["--python"],
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="The interpreter that runs the tests (default: the project's own, see faultless doctor).",
        ),
        click.Option(
            ["--timeout"], type=_SECONDS, default=300, show_default=True, help="Seconds a run may take."
        ),
        click.Option(
            ["--max-timeout"],
            type=_SECONDS,
            default=3600,
            show_default=True,
            help="Most seconds a call may ask for.",
        ),
        click.Option(
            ["--cold"],
            is_flag=True,
            help="Start a new interpreter for every run instead of keeping one warm.",
        ),
        click.Option(
            ["--idle-minutes"],
            type=click.FloatRange(min=0.1),
            default=10.0,
            show_default=True,
            help="After this time without a call the warm interpreter gives its memory back.",
        ),
    ),
    is_bad_news=_is_bad_news,
    render=_render,
    diagnose=_diagnose,
)
