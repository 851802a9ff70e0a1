"""Keys, and logging in with one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response

from tideproof.errors import InputError
from tideproof.serve.auth.access_control import caller, check_origin, cookie_name, needs
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import Right
from tideproof.serve.problem_details import RESPONSES, Problem
from tideproof.serve.schemas import key_schemas as m
from tideproof.serve.service import Service, service_of

router = APIRouter(prefix="/v1", tags=["keys"], responses=RESPONSES)

Admin = Annotated[Key, needs(Right.ADMIN)]
Anybody = Annotated[Key, needs(Right.OPEN)]
Somebody = Annotated[Key, needs(Right.ANY)]


@router.post("/keys", status_code=201, summary="Make a key")
async def make(body: m.NewKey, request: Request, key: Admin) -> m.MadeKey:
    """Make a key; its secret is shown this once. It can do nothing that yours cannot."""
    service = service_of(request)
    try:
        secret, made = await service.call(service.keys.mint, body.name, body.role, body.experiments, key)
    except InputError as error:
        raise Problem(403, str(error)) from None
    return m.MadeKey(secret=secret, **_info(made).model_dump())


@router.get("/keys", summary="List keys")
async def listed(request: Request, key: Admin) -> m.KeyList:
    """List the keys that can do nothing that yours cannot, without secrets; those taken back, too."""
    service = service_of(request)
    found = await service.call(service.keys.listed)
    return m.KeyList(keys=[_info(each) for each in found if key.covers(each.role, each.experiments)])


@router.delete("/keys/{id}", status_code=204, summary="Take a key back")
async def revoke(id: str, request: Request, key: Admin) -> None:
    """Take a key back: it is refused from now on, and whoever logged in with it is logged out."""
    service = service_of(request)
    await service.call(service.keys.revoke, id, key)


@router.post("/session", status_code=201, summary="Log in")
async def log_in(body: m.Login, request: Request, response: Response, nobody: Anybody) -> m.Who:
    """Log in with a key: what follows has a cookie instead."""
    check_origin_if_said(request)
    service = service_of(request)
    key = await key_of(request, service, body.key)
    await begin_session(request, response, service, key)
    return _who(key)


@router.get("/session", summary="Say who calls")
async def who(key: Somebody) -> m.Who:
    """Say who calls, by key or session."""
    return _who(key)


@router.delete("/session", status_code=204, summary="Log out")
async def log_out(request: Request, response: Response, key: Somebody) -> None:
    """End the session of the cookie."""
    await end_session(request, response, service_of(request))


async def key_of(request: Request, service: Service, secret: str) -> Key:
    """Return the key of a secret, or refuse; who tries often must wait."""
    scope = {**request.scope, "headers": [(b"authorization", b"Bearer " + secret.encode("utf-8", "replace"))]}
    return await caller(Request(scope), service)


async def begin_session(request: Request, response: Response, service: Service, key: Key) -> None:
    """Begin a session, and give the cookie of it."""
    secret = await service.call(service.keys.begin_session, key, service.settings.session)
    response.set_cookie(
        cookie_name(request),
        secret,
        max_age=int(service.settings.session),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )


async def end_session(request: Request, response: Response, service: Service) -> None:
    """End the session of a cookie, if there is one."""
    name = cookie_name(request)
    if secret := request.cookies.get(name):
        await service.call(service.keys.end_session, secret)
    response.delete_cookie(
        name, path="/", secure=request.url.scheme == "https", httponly=True, samesite="lax"
    )


def check_origin_if_said(request: Request) -> None:
    """Refuse a login that another web site makes a browser send; programs say no origin."""
    if "sec-fetch-site" in request.headers or "origin" in request.headers:
        check_origin(request)


def _info(key: Key) -> m.KeyInfo:
    return m.KeyInfo(
        **key._replace(experiments=None)._asdict()
        | {"experiments": None if key.experiments is None else list(key.experiments)}
    )


def _who(key: Key) -> m.Who:
    only = None if key.experiments is None else list(key.experiments)
    return m.Who(id=key.id, name=key.name, role=key.role, experiments=only)
