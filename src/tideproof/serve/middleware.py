"""Middleware for every request: limits of size and time, security headers, metrics and a log line."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tideproof.serve.json_logs import LOG
from tideproof.serve.pages.page_rendering import is_for_people, problem_page
from tideproof.serve.problem_details import Problem, response
from tideproof.serve.rate_limit import caller_address, retry_after_header
from tideproof.serve.service import Service

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
UPLOADS = "/analyze"  # the only path that accepts an uploaded file
_HEADERS = [
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


class RequestMiddleware:
    """Outermost ASGI middleware: it limits, counts and logs requests, and adds security headers."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request: enforce limits of size and time, add response headers, and log it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, request_id = time.perf_counter(), 500, secrets.token_hex(8)
        body = _LimitedBody(scope, receive, self._service)
        answered = False

        async def answer(message: Message) -> None:
            nonlocal status, answered
            if message["type"] == "http.response.start":
                status, answered = message["status"], True
                given = {name for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(each for each in _HEADERS if each[0] not in given),
                    (b"x-request-id", request_id.encode()),
                    *([] if b"cache-control" in given else [(b"cache-control", b"no-store")]),
                ]
                self._count(scope, status, time.perf_counter() - started)
            await send(message)

        try:
            self._check_rate(scope)
            body.check()
            if await body.read_ahead():
                await self._app(scope, body.receive, answer)
        except Problem as problem:
            if answered:
                raise
            request = Request(scope)
            reply = problem_page(request, problem) if is_for_people(request) else response(problem)
            await reply(scope, receive, answer)
        finally:
            self._log(scope, status, request_id, time.perf_counter() - started)

    def _check_rate(self, scope: Scope) -> None:
        """Raise an HTTP error if a client address sends too many requests."""
        service = self._service
        wait = service.address_limiter.take(caller_address(scope))
        if wait:
            raise Problem(
                429,
                f"this address sends more than {service.settings.address_requests_per_second:g} requests per "
                f"second: retry later",
                headers=retry_after_header(wait),
            )

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a response and its duration in the metrics of the service."""
        metrics, route = self._service.metrics, _route(scope)
        metrics.requests.labels(_method(scope), route or "none", status).inc()
        metrics.seconds.labels(route or "none").observe(seconds)

    def _log(self, scope: Scope, status: int, request_id: str, seconds: float) -> None:
        """Write the log line of a request."""
        fields = {
            "method": _method(scope),
            "route": _route(scope),
            "status": status,
            "ms": round(1000.0 * seconds, 2),
            "key": scope.get("state", {}).get("key"),
            "request": request_id,
        }
        LOG.info("request", extra={"fields": fields})


class _LimitedBody:
    """HTTP request body that is refused if it is too large or arrives too slowly."""

    def __init__(self, scope: Scope, receive: Receive, service: Service) -> None:
        self._receive, self._settings = receive, service.settings
        self._max_bytes = self._settings.body_bytes
        self._is_upload = scope["path"] == UPLOADS
        if self._is_upload:  # 64 KiB for the form fields around the file
            self._max_bytes = self._settings.upload_bytes + 2**16
        self._headers = dict(scope["headers"])
        self._read = 0
        self._whole: Message | None = None
        self._deadline = time.monotonic() + service.settings.request_seconds
        self._is_complete = False

    def check(self) -> None:
        """Raise an HTTP error with status 413 if the Content-Length header exceeds the limit."""
        length = self._headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._max_bytes:
            raise self._too_long()

    async def read_ahead(self) -> bool:
        """Read the whole request body unless it is a file; return False if the client has disconnected.

        So a client that sends its body slowly costs no more than its connection.
        """
        length, chunked = self._headers.get(b"content-length", b"0"), b"transfer-encoding" in self._headers
        if self._is_upload or not (chunked or length != b"0"):
            return True
        parts: list[bytes] = []
        while not self._is_complete:
            message = await self.receive()
            if message["type"] != "http.request":
                return False
            parts.append(message.get("body", b""))
        self._whole = {"type": "http.request", "body": b"".join(parts), "more_body": False}
        return True

    async def receive(self) -> Message:
        """Return the next part of the request body, or raise an HTTP error if it is too slow or large."""
        if self._whole is not None:
            message, self._whole = self._whole, None
            return message
        if self._is_complete:  # after the body, the only message is that the client has disconnected
            return await self._receive()
        try:
            async with asyncio.timeout(max(0.0, self._deadline - time.monotonic())):
                message = await self._receive()
        except TimeoutError:
            raise Problem(
                408, f"the request body did not arrive completely within {self._settings.request_seconds:g} s"
            ) from None
        if message["type"] == "http.request":
            self._read += len(message.get("body", b""))
            self._is_complete = not message.get("more_body", False)
            if self._read > self._max_bytes:
                raise self._too_long()
        return message

    def _too_long(self) -> Problem:
        """Return the HTTP error for a request body that exceeds the size limit."""
        return Problem(
            413,
            f"the request body must have at most {self._max_bytes:,} bytes",
            headers={"Connection": "close"},
        )


def _route(scope: Scope) -> str | None:
    """Return the path template of a request's route, such as `/v1/experiments/{name}`.

    It is None if no route matches the request. Log lines and metrics contain this template, not the path,
    so that they contain no names of experiments.
    """
    route: Any = scope.get("route")
    return getattr(route, "path", None)


def _method(scope: Scope) -> str:
    """Return the HTTP method of a request, or "other" if it is not a known one.

    This limits the number of metrics.
    """
    known = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
    return str(scope["method"]) if scope["method"] in known else "other"
