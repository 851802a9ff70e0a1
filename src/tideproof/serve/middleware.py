"""What every request passes: limits of size and time, a line in the log, headers that protect."""

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
from tideproof.serve.service import Service

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
UPLOADS = "/analyze"  # where a file may come
_HEADERS = [
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


class Edge:
    """The outermost part of the app."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status, number = time.perf_counter(), 500, secrets.token_hex(8)
        limited = _Limited(scope, receive, self._service)
        answered = False

        async def answer(message: Message) -> None:
            nonlocal status, answered
            if message["type"] == "http.response.start":
                status, answered = message["status"], True
                given = {name for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(each for each in _HEADERS if each[0] not in given),
                    (b"x-request-id", number.encode()),
                    *([] if b"cache-control" in given else [(b"cache-control", b"no-store")]),
                ]
                self._count(scope, status, time.perf_counter() - begun)
            await send(message)

        try:
            limited.check()
            await self._app(scope, limited.receive, answer)
        except Problem as problem:
            if answered:
                raise
            request = Request(scope)
            said = problem_page(request, problem) if is_for_people(request) else response(problem)
            await said(scope, receive, answer)
        finally:
            self._log(scope, status, number, time.perf_counter() - begun)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        metrics, route = self._service.metrics, _route(scope)
        metrics.requests.labels(_method(scope), route, status).inc()
        metrics.seconds.labels(route).observe(seconds)

    def _log(self, scope: Scope, status: int, number: str, seconds: float) -> None:
        fields = {
            "method": _method(scope),
            "route": _route(scope),
            "status": status,
            "ms": round(1000.0 * seconds, 2),
            "key": scope.get("state", {}).get("key"),
            "request": number,
        }
        LOG.info("request", extra={"fields": fields})


class _Limited:
    """The body of a request, as far as it is allowed."""

    def __init__(self, scope: Scope, receive: Receive, service: Service) -> None:
        self._receive, self._settings = receive, service.settings
        self._most = self._settings.body
        if scope["path"] == UPLOADS:  # the form around a file takes little
            self._most = self._settings.upload + 2**16
        self._headers = dict(scope["headers"])
        self._read = 0
        self._end = time.monotonic() + service.settings.seconds
        self._whole = False

    def check(self) -> None:
        """Raise if the body says that it is too long."""
        length = self._headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._most:
            raise self._too_long()

    async def receive(self) -> Message:
        if self._whole:  # what comes now is that the caller is gone
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, self._end - time.monotonic()))
        except TimeoutError:
            raise Problem(408, f"the body did not come within {self._settings.seconds:g} s") from None
        if message["type"] == "http.request":
            self._read += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._read > self._most:
                raise self._too_long()
        return message

    def _too_long(self) -> Problem:
        return Problem(
            413, f"a request may have {self._most:,} bytes at most", headers={"Connection": "close"}
        )


def _route(scope: Scope) -> str:
    """Return the route as it is declared: names of experiments are in no metric and no log."""
    route: Any = scope.get("route")
    return getattr(route, "path", "none")


def _method(scope: Scope) -> str:
    known = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
    return str(scope["method"]) if scope["method"] in known else "other"
