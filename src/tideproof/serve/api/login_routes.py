"""Routes for API keys and login sessions."""

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
AnyCaller = Annotated[Key, needs(Right.OPEN)]
KeyHolder = Annotated[Key, needs(Right.ANY)]


@router.post("/keys", status_code=201, summary="Create a key")
async def make(body: m.KeyBody, request: Request, key: Admin) -> m.CreatedKey:
    """Create an API key.

    Its secret is shown only once. Its rights cannot exceed those of the caller's key.
    """
    service = service_of(request)
    try:
        secret, made = await service.call(
            service.keys.create_key, body.name, body.role, body.experiments, key
        )
    except InputError as error:
        raise Problem(403, str(error)) from None
    return m.CreatedKey(secret=secret, **_info(made).model_dump())


@router.get("/keys", summary="List keys")
async def listed(request: Request, key: Admin) -> m.KeyList:
    """List API keys, including revoked ones, without their secrets.

    Only keys whose rights do not exceed those of the caller's key are listed.
    """
    service = service_of(request)
    found = await service.call(service.keys.list_keys)
    return m.KeyList(keys=[_info(each) for each in found if key.covers(each.role, each.experiments)])


@router.delete("/keys/{id}", status_code=204, summary="Revoke a key")
async def revoke(id: str, request: Request, key: Admin) -> None:
    """Revoke an API key: it is refused from now on, and its login sessions end."""
    service = service_of(request)
    await service.call(service.keys.revoke, id, key)


@router.post("/session", status_code=201, summary="Log in")
async def log_in(body: m.LoginBody, request: Request, response: Response, _caller: AnyCaller) -> m.CallerInfo:
    """Log in with an API key. A cookie then replaces the key in later requests."""
    check_given_origin(request)
    service = service_of(request)
    key = await find_key(request, service, body.key)
    await begin_session(request, response, service, key, body.person)
    return _caller_info(key._replace(person=body.person))


@router.get("/session", summary="Describe the caller's key")
async def describe_caller(key: KeyHolder) -> m.CallerInfo:
    """Return the API key of the caller, without its secret."""
    return _caller_info(key)


@router.delete("/session", status_code=204, summary="Log out")
async def log_out(request: Request, response: Response, key: KeyHolder) -> None:
    """End the login session that the cookie of the request identifies."""
    await end_session(request, response, service_of(request))


async def find_key(request: Request, service: Service, secret: str) -> Key:
    """Return the API key with this secret, or raise an HTTP error; failed attempts are rate-limited."""
    scope = {**request.scope, "headers": [(b"authorization", b"Bearer " + secret.encode("utf-8", "replace"))]}
    return await caller(Request(scope), service)


async def begin_session(
    request: Request, response: Response, service: Service, key: Key, person: str
) -> None:
    """Start a login session of a browser and set its cookie."""
    secret = await service.call(service.keys.begin_session, key, service.settings.session_seconds, person)
    response.set_cookie(
        cookie_name(request),
        secret,
        max_age=int(service.settings.session_seconds),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )


async def end_session(request: Request, response: Response, service: Service) -> None:
    """End the login session that the cookie of a request identifies, if there is one."""
    name = cookie_name(request)
    if secret := request.cookies.get(name):
        await service.call(service.keys.end_session, secret)
    response.delete_cookie(
        name, path="/", secure=request.url.scheme == "https", httponly=True, samesite="lax"
    )


def check_given_origin(request: Request) -> None:
    """Raise an HTTP error if a browser sent a login request on behalf of another web site.

    Programs other than browsers send neither Sec-Fetch-Site nor Origin, and are not checked.
    """
    if "sec-fetch-site" in request.headers or "origin" in request.headers:
        check_origin(request)


def _info(key: Key) -> m.KeyInfo:
    """Return an API key, without its secret, as a response body."""
    return m.KeyInfo(
        **key._replace(experiments=None)._asdict()
        | {"experiments": None if key.experiments is None else list(key.experiments)}
    )


def _caller_info(key: Key) -> m.CallerInfo:
    """Return the API key of the caller, without its secret, as a response body."""
    only = None if key.experiments is None else list(key.experiments)
    return m.CallerInfo(id=key.id, name=key.name, role=key.role, experiments=only, person=key.person)
