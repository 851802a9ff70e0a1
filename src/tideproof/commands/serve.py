"""The command `tideproof serve`, which runs the web service."""

from __future__ import annotations

from typing import Annotated

import typer

from tideproof.commands.command_definition import Command


def serve_command(
    url: Annotated[
        str,
        typer.Argument(
            metavar="[URL]", envvar="TIDEPROOF_STORE", help="URL of the store.", show_default=True
        ),
    ] = "sqlite:///tideproof.db",
    host: Annotated[
        str,
        typer.Option(
            envvar="TIDEPROOF_HOST",
            help="Address to listen on; 0.0.0.0 accepts connections from other machines.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            envvar="TIDEPROOF_PORT", help="Port to listen on; 0 chooses a free port.", min=0, max=65535
        ),
    ] = 8080,
) -> None:
    """Run a web service for the experiments of a store: an HTTP API under /v1, and web pages.

    The command prints the address and, at the first start, an admin key. The environment variable
    TIDEPROOF_ADMIN_KEY sets that key; docs/serve.md lists other variables. For example:

    tideproof serve sqlite:///shop.db --port 8080
    """
    from tideproof.serve.server import start
    from tideproof.serve.service_settings import from_environment

    start(url, host, port, from_environment(), typer.echo)


COMMAND = Command("serve", serve_command)
