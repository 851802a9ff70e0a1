"""Who calls, and whether they may: `needs(right)` stands at every route."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from fastapi import Depends, Request

from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import ROLES, Right
from tideproof.serve.problem_details import Problem
from tideproof.serve.rate_limit import seconds
from tideproof.serve.service import Service, service_of

SAFE = ("GET", "HEAD", "OPTIONS")
_NOBODY = Key("", "nobody", "viewer", (), 0.0)


class Needs:
    """A dependency: the key of who calls, if it has the right and is for the experiment in the path."""

    def __init__(self, right: Right) -> None:
        self.right = right

    async def __call__(self, request: Request) -> Key:
        """Return the key, or refuse."""
        if self.right is Right.OPEN:
            return _NOBODY
        service = service_of(request)
        key = await caller(request, service)
        request.scope.setdefault("state", {})["key"] = key.id
        wait = service.rates.take(key.id)
        if wait:
            raise Problem(
                429,
                f"this key comes more than {service.settings.rate:g} times a second",
                headers=seconds(wait),
            )
        if not key.may(self.right):
            roles = ", ".join(role for role, rights in ROLES.items() if self.right in rights)
            raise Problem(403, f"a key of the role {key.role!r} may not do this; it needs one of: {roles}")
        name = request.path_params.get("name")
        if name is not None and not key.reaches(name):
            raise Problem(403, "this key is for other experiments")
        return key


def needs(right: Right) -> Any:
    """Return what a route says to let in only who has that right."""
    return Depends(Needs(right))


async def caller(request: Request, service: Service) -> Key:
    """Return the key of a request: in its Authorization or X-API-Key header, or that of its session.

    Who has a valid one is let in, whatever others at the same address try.
    """
    if not service.keys.fresh:
        await service.call(service.keys.read)
    given = _given(request)
    if given is not None:
        secret = given
        found = service.keys.known(secret) if secret else None
        if found is None:
            _count_failure(request, service)
            await service.call(service.keys.read)  # another process may just have made it
            found = service.keys.known(secret) if secret else None
    else:
        session = request.cookies.get(cookie_name(request))
        found = await service.call(service.keys.of_session, session) if session else None
        if found is None:
            _count_failure(request, service)
        else:
            check_origin(request)
    if found is None:
        raise Problem(
            401,
            "a valid key is needed: Authorization: Bearer KEY",
            headers={"WWW-Authenticate": 'Bearer realm="tideproof"'},
        )
    return found


def _given(request: Request) -> str | None:
    """Return the secret in a request's headers, which is empty if it makes no sense; None without one."""
    given = request.headers.get("authorization")
    if given is None:
        return request.headers.get("x-api-key")
    scheme, _, secret = given.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def _count_failure(request: Request, service: Service) -> None:
    """Let who comes without a valid key come so often only."""
    wait = service.failures.take(request.client.host if request.client else "nowhere")
    if wait:
        raise Problem(429, "too many requests without a valid key", headers=seconds(wait))


def check_origin(request: Request) -> None:
    """Refuse what another web site makes a browser send: a request with a cookie that changes something."""
    if request.method in SAFE:
        return
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        own = site in ("same-origin", "none")
    else:  # an old browser
        origin = urlsplit(request.headers.get("origin", ""))
        own = bool(origin.netloc) and (origin.scheme, origin.netloc) == (
            request.url.scheme,
            request.url.netloc,
        )
    if not own:
        raise Problem(403, "a request with a cookie must come from this service's own pages")


def cookie_name(request: Request) -> str:
    """Return the cookie of a session: bound to this host where the connection is safe."""
    return "__Host-tideproof" if request.url.scheme == "https" else "tideproof"


def routes_and_rights(app: Any) -> list[tuple[str, str, Right | None]]:
    """Return method, path and needed right of every route; None where none is declared."""
    found: list[tuple[str, str, Right | None]] = []
    for route in app.routes:
        dependant = getattr(route, "dependant", None)
        needed = (
            [each.call.right for each in dependant.dependencies if isinstance(each.call, Needs)]
            if dependant
            else []
        )
        methods = sorted(getattr(route, "methods", None) or {"MOUNT"})
        found += [(method, route.path, needed[0] if needed else None) for method in methods]
    return found
