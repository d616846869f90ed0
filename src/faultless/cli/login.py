"""`faultless login NAME`: what a server needs a person for, once."""

from __future__ import annotations

import click

_COMMANDS = ("gmail",)


class _Logins(click.Group):
    """Imported when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in _COMMANDS:
            return None
        from faultless.servers.gmail.login_command import command as gmail  # noqa: PLC0415 - the other commands start sooner

        return gmail


command = _Logins("login", help="Log in to a service with a browser, once.")
