"""`faultless login NAME`: what a server needs a person for, once."""

from __future__ import annotations

from pathlib import Path

import click

from faultless.cli.lookup import require_extra
from faultless.cli.options import Number

_FILE = click.Path(dir_okay=False, path_type=Path)

HELP = """\
Log in to Gmail with a browser, once; the login then renews itself.

\b
  faultless login gmail --client ~/Downloads/client_secret.json
  faultless login gmail --scope readonly --no-browser
  faultless login gmail --account work
"""


@click.group("login", help="Log in to a service with a browser, once.")
def command() -> None:
    """Replaced by the help above."""


@command.command("gmail", help=HELP, short_help="Log in to Gmail with a browser.")
@click.option(
    "--client",
    type=_FILE,
    metavar="FILE",
    help="The OAuth client (default: $GMAIL_CREDENTIALS_PATH, or our own).",
)
@click.option(
    "--account", default="", metavar="NAME", help="One of several accounts; servers take the same option."
)
@click.option(
    "--token",
    type=_FILE,
    metavar="FILE",
    help="Where the login goes (default: $GMAIL_TOKEN_PATH, or our own).",
)
@click.option(
    "--scope",
    type=click.Choice(["modify", "compose", "readonly"]),
    default="modify",
    show_default=True,
    help="What the login may do; modify is all but deleting for good.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port for the answer (default: any).")
@click.option("--no-browser", is_flag=True, help="Print the address instead of opening it.")
@click.option(
    "--timeout",
    type=Number(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the person.",
)
def gmail(
    *,
    client: Path | None,
    account: str,
    token: Path | None,
    scope: str,
    port: int,
    no_browser: bool,
    timeout: float,
) -> None:
    require_extra("gmail")
    from faultless.servers.gmail import login, settings  # noqa: PLC0415 - they need the extra

    def show(url: str) -> None:
        click.echo(f"Open this address and consent:\n\n  {url}\n", err=True)
        if not no_browser:
            import webbrowser  # noqa: PLC0415 - --help must be fast

            webbrowser.open(url)

    path = token or settings.default_token_path(account)
    found = login.read_client(client or settings.default_credentials_path())
    login.log_in(found, path, open_page=show, scope=scope, port=port, deadline_seconds=timeout)
    click.echo(f"Logged in; the login is in {path}.")
