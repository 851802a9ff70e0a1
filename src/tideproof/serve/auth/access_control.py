"""Authentication and authorization of requests: every route declares which right of an API key it needs."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from fastapi import Depends, Request

from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import ROLES, Right
from tideproof.serve.problem_details import Problem
from tideproof.serve.rate_limit import caller_address, retry_after_header
from tideproof.serve.service import Service, service_of
from tideproof.text import join_names

SAFE = ("GET", "HEAD", "OPTIONS")
_ANONYMOUS = Key("", "nobody", "viewer", (), 0.0)


class RightRequirement:
    """FastAPI dependency that authenticates the caller and checks that its API key has a right."""

    def __init__(self, right: Right) -> None:
        self.right = right

    async def __call__(self, request: Request) -> Key:
        """Return the caller's API key, or raise an HTTP error if the key lacks the required right."""
        if self.right is Right.OPEN:
            return _ANONYMOUS
        service = service_of(request)
        key = await caller(request, service)
        request.scope.setdefault("state", {})["key"] = key.id
        wait = service.rate_limiter.take(key.id)
        if wait:
            raise Problem(
                429,
                f"this API key sends more than {service.settings.requests_per_second:g} requests per second: "
                f"retry later",
                headers=retry_after_header(wait),
            )
        if not key.may(self.right):
            roles = join_names((role for role, rights in ROLES.items() if self.right in rights), "or")
            raise Problem(
                403,
                f"this request requires an API key with the role {roles}, but this key has the role "
                f"{key.role!r}",
            )
        name = request.path_params.get("name")
        if name is not None and not key.reaches(name):
            raise Problem(403, f"this key is restricted to other experiments and may not use {name!r}")
        return key


def needs(right: Right) -> Any:
    """Return a FastAPI dependency that requires an API key with a right, such as reading experiments."""
    return Depends(RightRequirement(right))


async def caller(request: Request, service: Service) -> Key:
    """Return the API key of a request: from its Authorization or X-API-Key header, or from its session.

    A valid key is accepted even if other callers at the same address have exceeded the limit for failures.
    """
    if not service.keys.is_fresh:
        await service.call(service.keys.refresh)
    header = _given(request)
    if header is not None:
        secret = header
        found = service.keys.cached_key(secret) if secret else None
        if found is None:
            _count_failure(request, service)
            await service.call(service.keys.refresh)  # another process may have created the key just now
            found = service.keys.cached_key(secret) if secret else None
    else:
        session = request.cookies.get(cookie_name(request))
        found = await service.call(service.keys.find_session_key, session) if session else None
        if found is None:
            _count_failure(request, service)
        else:
            check_origin(request)
    if found is None:
        raise Problem(
            401,
            "a valid API key is needed, in the header Authorization: Bearer KEY",
            headers={"WWW-Authenticate": 'Bearer realm="tideproof"'},
        )
    return found


def _given(request: Request) -> str | None:
    """Return the secret of the API key in the headers of a request.

    It is "" if the header is malformed, and None if there is no such header.
    """
    header = request.headers.get("authorization")
    if header is None:
        return request.headers.get("x-api-key")
    scheme, _, secret = header.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def _count_failure(request: Request, service: Service) -> None:
    """Count a request that has no valid API key; an address may send only a limited number of them.

    Raise an HTTP error if the address has sent too many.
    """
    wait = service.failure_limiter.take(caller_address(request.scope))
    if wait:
        raise Problem(
            429,
            f"this address sends more than {service.settings.failures_per_minute:g} requests per minute "
            f"without a valid API key: retry later",
            headers=retry_after_header(wait),
        )


def check_origin(request: Request) -> None:
    """Raise an HTTP error if a browser sent a request that changes data on behalf of another web site."""
    if request.method in SAFE:
        return
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        own = site in ("same-origin", "none")
    else:  # older browsers do not send Sec-Fetch-Site
        origin = urlsplit(request.headers.get("origin", ""))
        own = bool(origin.netloc) and (origin.scheme, origin.netloc) == (
            request.url.scheme,
            request.url.netloc,
        )
    if not own:
        raise Problem(
            403,
            "the request has a login cookie, but another web site sent it, and only pages of this service "
            "may do so; programs must send an API key instead",
        )


def cookie_name(request: Request) -> str:
    """Return the name of the login cookie.

    Over HTTPS, a prefix of the name binds the cookie to this host.
    """
    return "__Host-tideproof" if request.url.scheme == "https" else "tideproof"


def routes_and_rights(app: Any) -> list[tuple[str, str, Right | None]]:
    """Return the method, the path and the required right of every route.

    The right is None if the route declares none.
    """
    found: list[tuple[str, str, Right | None]] = []
    for route in app.routes:
        dependant = getattr(route, "dependant", None)
        needed = (
            [each.call.right for each in dependant.dependencies if isinstance(each.call, RightRequirement)]
            if dependant
            else []
        )
        methods = sorted(getattr(route, "methods", None) or {"MOUNT"})
        found += [(method, route.path, needed[0] if needed else None) for method in methods]
    return found
