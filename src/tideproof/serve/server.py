"""Start the HTTP service, and stop it without losing acknowledged requests."""

from __future__ import annotations

import math
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from tideproof._version import __version__
from tideproof.errors import InputError
from tideproof.serve import json_logs
from tideproof.serve.app import make_app
from tideproof.serve.connection_guard import (
    ACCEPTED_AT_ONCE,
    ConnectionGuard,
    allow_open_files,
    guarded_protocol,
)
from tideproof.serve.service import Service
from tideproof.serve.service_settings import Settings
from tideproof.text import public_url

LOCAL_HOSTS = ("127.0.0.1", "::1", "localhost")
_BACKLOG = 2048


def start(url: str, host: str, port: int, settings: Settings, say: Callable[[str], None]) -> None:
    """Serve the experiments of a store (a database) over HTTP until a signal stops the service.

    `say` is called with a message on the address of the service, and with any new admin key.
    """
    json_logs.configure_logging(settings.log_format)
    app = make_app(url, settings)
    service: Service = app.state.service

    def begun(at: str) -> None:
        say(f"tideproof {__version__} serves {public_url(url)} at {at}")
        if secret:
            say(f"admin key (save it: it is shown only once): {secret}")

    try:
        secret = create_first_key(service, host)
    except BaseException:
        service.close()
        raise
    run(app, host, port, begun)


def run(app: FastAPI, host: str, port: int, begun: Callable[[str], None]) -> None:
    """Serve a web application until a signal stops it.

    `begun` is called with its URL once it is ready.
    """
    service: Service = app.state.service
    try:
        with open_socket(host, port) as found:
            server = make_server(app, service.settings)
            _install_signal_handlers(server)
            begun(address(host, found))
            server.run(sockets=[found])
    finally:
        service.close()


def create_first_key(service: Service, host: str) -> str | None:
    """Create an API key with all rights, unless there is one already, and return its secret.

    The result is None if there is one.

    Raise `InputError` if the host is reachable from other machines while there are no keys at all.
    """
    if service.keys.exists("admin"):
        return None
    if host not in LOCAL_HOSTS and not service.keys.exists():
        raise InputError(
            f"--host {host} is reachable from other machines, but there are no API keys yet. Start the "
            f"service once on 127.0.0.1, which prints an admin key, or set TIDEPROOF_ADMIN_KEY"
        )
    return service.keys.create_key("admin", "admin", None, None)[0]


def open_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on a port, or raise `InputError` with the reason why it cannot."""
    found = None
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(where)
        found.listen(_BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        if found is not None:
            found.close()
        raise InputError(f"cannot listen on {host}, port {port}: {error}") from None
    return found


def address(host: str, found: socket.socket) -> str:
    """Return the URL of a listening socket."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{found.getsockname()[1]}"


class _Server(uvicorn.Server):
    """Uvicorn server that ends open event streams when it stops."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections, and let the operating system queue those that must wait."""
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(_BACKLOG)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal to stop; after a second interrupt signal, do not wait for running requests."""
        self.config.app.state.service.stop()  # type: ignore[union-attr]
        super().handle_exit(sig, frame)


def make_server(app: Any, settings: Settings) -> _Server:
    """Return a uvicorn server for an application."""
    return _Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="on",
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=settings.trusted_proxies or None,
            timeout_graceful_shutdown=max(1, int(settings.request_seconds)),
            timeout_keep_alive=max(1, math.ceil(settings.idle_seconds)),
            http=guarded_protocol(ConnectionGuard(settings, allow_open_files(settings))),
            ws="none",
            backlog=ACCEPTED_AT_ONCE,
        )
    )


def _install_signal_handlers(server: _Server) -> None:
    """Install signal handlers, so that a signal stops the server even if it arrives before the server runs.

    They stay installed, so that the signals uvicorn raises again after stopping have no effect.
    """
    if threading.current_thread() is threading.main_thread():
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, server.handle_exit)
