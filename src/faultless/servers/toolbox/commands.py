"""`faultless toolbox check` and `faultless toolbox new`."""

from __future__ import annotations

from pathlib import Path

import click

BAD_NEWS = 1


@click.command(
    "check",
    short_help="What would be exposed, and why anything is left out.",
    help="Print the tools that `serve toolbox DIR` would expose, and why anything is left out or will "
    "not run.\n\nExit status 1 when something is.",
)
@click.argument("folder", required=False, metavar="[DIR]")
@click.option("--root", default=".", metavar="DIR", help="The folder the tools work in.")
def check(folder: str | None, root: str) -> int:
    import anyio  # noqa: PLC0415 - --help must be fast

    from faultless.servers.toolbox import review  # noqa: PLC0415 - as above

    found = anyio.run(review.review, Path(root), folder)
    click.echo(review.write(found))
    return BAD_NEWS if found.skipped or found.doubts else 0


@click.command(
    "new",
    short_help="A starting point for a tool of your own.",
    help="Write a tool called NAME that works at once, to be changed into what you need.",
)
@click.argument("name")
@click.option("--lang", type=click.Choice(["sh", "python", "node"]), default="sh", show_default=True)
@click.option(
    "--tools", "folder", default="tools", show_default=True, metavar="DIR", help="Where to write it."
)
def new(name: str, lang: str, folder: str) -> None:
    from faultless.servers.toolbox import scaffold  # noqa: PLC0415 - --help must be fast

    path = scaffold.write(Path(folder), name, lang)
    click.echo(f"wrote {path}")
    click.echo(f"try it: faultless call toolbox --tools {folder} {name} who=world")
