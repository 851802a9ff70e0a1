"""Limits of network connections, so that slow or idle clients cannot keep others out of the service.

A connection on which the service waits for its client (for the rest of a request, or for the next one) may be
closed at any time: when its time is over, and earlier if there are too many connections. Those that have
waited longest are closed first, and those of which nothing was read yet last, so that a client that sends its
request at once is served.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from tideproof.serve.rate_limit import address_group
from tideproof.serve.service_settings import Settings

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

FILES_PER_EXPERIMENT = 2  # open files of an experiment in SQLite: the file and its write-ahead log
ACCEPTED_AT_ONCE = 16  # connections that the event loop accepts before it looks at any of them
OTHER_FILES = 250  # open files of everything else, and connections that are being closed
FEWEST_CONNECTIONS = 100
GRACE = 1.0  # seconds that a request with a slow body has more, so that the answer 408 is sent first


def allow_open_files(settings: Settings) -> int:
    """Raise this process's limit of open files; return how many connections may be open at once.

    It is the setting, or less if the operating system allows fewer files.
    """
    if resource is None:
        return settings.connections
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    others = OTHER_FILES + FILES_PER_EXPERIMENT * settings.open_experiments
    wanted = settings.connections + others
    if now != resource.RLIM_INFINITY and now < wanted:
        now = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (now, most))
    if now == resource.RLIM_INFINITY:
        return settings.connections
    return min(settings.connections, max(FEWEST_CONNECTIONS, now - others))


class ConnectionGuard:
    """Register of a server's open connections, which decides which ones to close if there are too many.

    Only one event loop may use it.

    Attributes
    ----------
    most : maximum number of connections.
    most_per_address : maximum number of connections of one address, unless it is a trusted proxy.
    header_seconds : seconds that a client may take to send the headers of its first request.
    idle_seconds : seconds that it may take to send the headers of a later one.
    body_seconds : seconds that it may take for the rest of the request, and that a response may wait for it.
    """

    def __init__(self, settings: Settings, most: int) -> None:
        self.most, self.most_per_address = most, settings.connections_per_address
        self.header_seconds = settings.header_seconds
        self.idle_seconds = settings.idle_seconds + settings.header_seconds
        self.body_seconds = settings.request_seconds + GRACE
        trusted = ProxyHeadersMiddleware(_refuse, settings.trusted_proxies or [])
        self._is_proxy: Callable[[str], bool] = trusted.trusted_hosts.__contains__
        self._open: dict[str, int] = defaultdict(int)
        self._count = 0
        self._waiting = WaitingConnections()
        self._waiting_by_address: dict[str, WaitingConnections] = defaultdict(WaitingConnections)

    def address(self, host: str) -> str:
        """Return the client address by which connections are counted; empty for a trusted proxy."""
        return "" if self._is_proxy(host) else address_group(host)

    def add(self, connection: GuardedProtocol) -> bool:
        """Register a new connection, and close another one if there are too many.

        Return False if the new connection must be closed, because all others are being served.
        """
        address = connection.address
        self._count += 1
        self._open[address] += 1
        if address and self._open[address] > self.most_per_address:
            over = self._waiting_by_address[address].first
        elif self._count > self.most:
            over = self._waiting.first
        else:
            return True
        if over is not None:
            over.end()
        return over is not None

    def remove(self, connection: GuardedProtocol) -> None:
        """Remove a closed connection from the register."""
        self.served(connection)
        self._count -= 1
        self._open[connection.address] -= 1
        if not self._open[connection.address]:
            del self._open[connection.address]
            self._waiting_by_address.pop(connection.address, None)

    def waits(self, connection: GuardedProtocol, is_new: bool) -> None:
        """Record that the server waits for the client of a connection.

        `is_new` says that nothing was read from the connection yet.
        """
        for each in (self._waiting, self._waiting_by_address[connection.address]):
            each.discard(connection)
            (each.new if is_new else each.others)[connection] = None

    def served(self, connection: GuardedProtocol) -> None:
        """Record that the server no longer waits for the client of a connection."""
        for each in (self._waiting, self._waiting_by_address[connection.address]):
            each.discard(connection)


class WaitingConnections:
    """Connections on which the server waits for the client, ordered by how long they have waited.

    Attributes
    ----------
    new : those of which nothing was read yet.
    others : the others, which are closed before the new ones.
    """

    def __init__(self) -> None:
        self.new: OrderedDict[GuardedProtocol, None] = OrderedDict()
        self.others: OrderedDict[GuardedProtocol, None] = OrderedDict()

    @property
    def first(self) -> GuardedProtocol | None:
        """The connection that should be closed first, or None if there is none."""
        return next(iter(self.others or self.new), None)

    def discard(self, connection: GuardedProtocol) -> None:
        """Remove a connection from the waiting ones, if it is among them."""
        self.new.pop(connection, None)
        self.others.pop(connection, None)


async def _refuse(*_: Any) -> None:
    """Do nothing: a placeholder for a web application, which is never called."""


class GuardedProtocol(H11Protocol):
    """HTTP protocol of one connection, with limits on how long it may wait for its client."""

    guard: ConnectionGuard  # set by `guarded_protocol`

    def connection_made(self, transport: Any) -> None:
        """Register a new connection, and wait for its first request."""
        super().connection_made(transport)
        self.address = self.guard.address(self.client[0] if self.client else "")
        self._deadline: asyncio.TimerHandle | None = None
        self._is_lost = False
        self._seconds, self._is_new = 0.0, True
        if self.guard.add(self):
            self._wait(self.guard.header_seconds)
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove a lost connection from the register."""
        self._is_lost = True
        self._cancel_deadline()
        self.guard.remove(self)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Process received data, and record whether the server waits for more of them."""
        super().handle_events()
        self._look(was_new=self._is_new)

    def on_response_complete(self) -> None:
        """Wait for the client's next request after a response was sent."""
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """Limit the time in which a client must read the rest of a response."""
        super().pause_writing()
        self._wait(self.guard.body_seconds)

    def resume_writing(self) -> None:
        """Continue a response after the client has read some of it."""
        super().resume_writing()
        self._look()

    def end(self) -> None:
        """Close the connection to the client at once."""
        self._cancel_deadline()
        self.guard.served(self)
        self.transport.abort()

    def _look(self, was_new: bool = False) -> None:
        """Start or end waiting for the client, depending on whether a complete request has arrived.

        A wait that goes on is not begun anew, so that single bytes do not prolong it.
        """
        if self._is_lost or self.transport.is_closing() or self.flow.write_paused:
            return
        cycle: Any = self.cycle
        if cycle is None:
            seconds = self.guard.header_seconds
        elif cycle.response_complete:
            seconds = self.guard.idle_seconds
        elif cycle.more_body:
            seconds = self.guard.body_seconds
        else:
            self._cancel_deadline()
            self.guard.served(self)
            return
        self._is_new = False
        if self._deadline is None or self._seconds != seconds:
            self._wait(seconds)
        elif was_new:
            self.guard.waits(self, False)

    def _wait(self, seconds: float) -> None:
        """Close the connection unless the client acts within some seconds."""
        if self._is_lost:
            return
        self._cancel_deadline()
        self._seconds, self._deadline = seconds, self.loop.call_later(seconds, self.end)
        self.guard.waits(self, self._is_new)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def guarded_protocol(guard: ConnectionGuard) -> type[asyncio.Protocol]:
    """Return the protocol class of a server whose connections are counted and limited by a guard."""
    return type("GuardedServerProtocol", (GuardedProtocol,), {"guard": guard})
