"""Starting a service, and stopping it so that nothing acknowledged is lost."""

from __future__ import annotations

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
from tideproof.serve.app import make
from tideproof.serve.service import Service
from tideproof.serve.service_settings import Settings

LOCAL = ("127.0.0.1", "::1", "localhost")
_BACKLOG = 2048


def start(url: str, host: str, port: int, settings: Settings, say: Callable[[str], None]) -> None:
    """Serve a store until a signal comes; `say` is told the address and, once, the admin key."""
    json_logs.begin(settings.log)
    app = make(url, settings)
    service: Service = app.state.service

    def begun(at: str) -> None:
        say(f"tideproof {__version__} serves {public(url)} at {at}")
        if secret:
            say(f"admin key, shown this once: {secret}")

    try:
        secret = first_key(service, host)
    except BaseException:
        service.close()
        raise
    run(app, host, port, begun)


def run(app: FastAPI, host: str, port: int, begun: Callable[[str], None]) -> None:
    """Serve an app until a signal comes; `begun` is told the address once it listens."""
    service: Service = app.state.service
    try:
        with listening(host, port) as found:
            server = _server(app, service.settings)
            _heed_signals(server)
            begun(address(host, found))
            server.run(sockets=[found])
    finally:
        service.close()


def first_key(service: Service, host: str) -> str | None:
    """Return the secret of a first admin key, None if there is one; refuse to be seen without any key."""
    if service.keys.exist("admin"):
        return None
    if host not in LOCAL and not service.keys.exist():
        raise InputError(
            f"--host {host} can be reached from elsewhere, and there are no keys: start it once on "
            f"127.0.0.1, which shows one, or set TIDEPROOF_ADMIN_KEY"
        )
    return service.keys.mint("admin", "admin", None, None)[0]


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say why that cannot be."""
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
    """Return where a socket can be reached."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{found.getsockname()[1]}"


def public(url: str) -> str:
    """Return a URL without a password.

    >>> public("postgresql://ann:secret@db/shop"), public("sqlite:///shop.db")
    ('postgresql://ann@db/shop', 'sqlite:///shop.db')
    """
    scheme, _, rest = url.partition("://")
    who, at, where = rest.rpartition("@")
    return f"{scheme}://{who.partition(':')[0]}{at}{where}"


class _Server(uvicorn.Server):
    """One whose streams end when it is told to stop."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; a second signal does not wait for requests."""
        self.config.app.state.service.stop()  # type: ignore[union-attr]
        super().handle_exit(sig, frame)


def _server(app: Any, settings: Settings) -> _Server:
    return _Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="on",
            proxy_headers=bool(settings.proxies),
            forwarded_allow_ips=settings.proxies or None,
            timeout_graceful_shutdown=max(1, int(settings.seconds)),
        )
    )


def _heed_signals(server: _Server) -> None:
    """Let signals stop it before it runs, too; and do nothing when uvicorn raises them again after it."""
    if threading.current_thread() is threading.main_thread():
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, server.handle_exit)
