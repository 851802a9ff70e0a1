"""`tideproof serve`: experiments for a team, behind HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from tideproof.commands.command_definition import Command


def serve_command(
    url: Annotated[
        str, typer.Argument(metavar="[URL]", envvar="TIDEPROOF_STORE", help="The store.", show_default=True)
    ] = "sqlite:///tideproof.db",
    host: Annotated[
        str, typer.Option(envvar="TIDEPROOF_HOST", help="Where to listen; 0.0.0.0 for everybody, with keys.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(envvar="TIDEPROOF_PORT", help="0 for any that is free.", min=0, max=65535)
    ] = 8080,
) -> None:
    """Serve the experiments of a store: an HTTP API under /v1 and pages for people, with keys.

    Prints the address and, at the first start, an admin key. TIDEPROOF_ADMIN_KEY sets one for scripts;
    docs/serve.md lists the other variables. For example

    tideproof serve sqlite:///shop.db --port 8080
    """
    from tideproof.serve.server import start
    from tideproof.serve.service_settings import from_environment

    start(url, host, port, from_environment(), typer.echo)


COMMAND = Command("serve", serve_command)
