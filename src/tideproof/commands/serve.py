"""The command `tideproof serve`, which runs the web service."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.option_types import refuse_password


def serve_command(
    context: typer.Context,
    url: Annotated[
        str,
        typer.Argument(
            metavar="[URL]", envvar="TIDEPROOF_STORE", help="URL of the store.", callback=refuse_password
        ),
    ] = "sqlite:///tideproof.db",
    host: Annotated[
        str,
        typer.Option(
            envvar="TIDEPROOF_HOST",
            metavar="ADDRESS",
            help="Address to listen on.",
            rich_help_panel="Network",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            envvar="TIDEPROOF_PORT",
            metavar="NUMBER",
            help="Port to listen on.",
            rich_help_panel="Network",
            min=0,
            max=65535,
        ),
    ] = 8080,
) -> None:
    """Run a web service for the experiments of a store: an HTTP API under /v1, and web pages.

    The command prints the address and, at the first start, an admin key. The address 0.0.0.0 accepts
    connections from other machines; the port 0 chooses a free one.

    The environment variables TIDEPROOF_STORE, TIDEPROOF_HOST and TIDEPROOF_PORT replace the defaults, and
    TIDEPROOF_ADMIN_KEY sets the admin key. TIDEPROOF_STORE_FILE and TIDEPROOF_ADMIN_KEY_FILE name files with
    the URL and the key instead. There are further variables for the settings of the service, such
    as TIDEPROOF_TIME_ZONE, TIDEPROOF_ORIGINS, TIDEPROOF_TRUSTED_PROXIES, TIDEPROOF_LOG_FORMAT and
    TIDEPROOF_REQUESTS_PER_SECOND; the online documentation lists all of them.
    """
    from tideproof.serve.server import start
    from tideproof.serve.service_settings import from_environment
    from tideproof.store.chain_key import read_secret

    source = context.get_parameter_source("url")
    if (path := os.environ.get("TIDEPROOF_STORE_FILE")) and source is not None and source.name == "DEFAULT":
        url = read_secret("TIDEPROOF_STORE_FILE", path)
    start(url, host, port, from_environment(), typer.echo)


COMMAND = Command("serve", serve_command, examples=("tideproof serve sqlite:///shop.db --port 8080",))
