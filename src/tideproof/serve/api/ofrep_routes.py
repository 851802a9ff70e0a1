"""OFREP: the arm of a visitor for the SDKs of OpenFeature, in ten languages and without our code."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from tideproof.errors import TideproofError
from tideproof.serve.auth.access_control import needs
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import Right
from tideproof.serve.feature_flags import GENERAL
from tideproof.serve.problem_details import RESPONSES, Problem, problem_of
from tideproof.serve.schemas import flag_schemas as m
from tideproof.serve.server_sent_events import following, message, streamed
from tideproof.serve.service import Service, service_of
from tideproof.text import escape_control_characters

PAUSE = 0.5  # seconds between two looks
Evaluator = Annotated[Key, needs(Right.EVALUATE)]


class OfrepRoute(APIRoute):
    """A route whose errors are those of the protocol."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what serves a request."""
        inner = super().get_route_handler()

        async def served(request: Request) -> Response:
            try:
                return await inner(request)
            except RequestValidationError as error:
                return _failure(request, 400, *_wrong(error))
            except TideproofError as error:
                return _refused(request, problem_of(error))
            except Problem as error:
                return _refused(request, error)
            except HTTPException as error:
                return _failure(request, error.status_code, "PARSE_ERROR", error.detail)

        return served


router = APIRouter(prefix="/ofrep/v1", tags=["OpenFeature"], responses=RESPONSES, route_class=OfrepRoute)


@router.post(
    "/evaluate/flags/{key}",
    summary="Evaluate one flag",
    response_model=m.Flag,
    responses={400: {"model": m.FlagFailure}, 404: {"model": m.FlagFailure}},
)
async def evaluate(key: str, body: m.FlagRequest, request: Request, caller: Evaluator) -> JSONResponse:
    """Say which arm a unit gets of the experiment that the flag is; an exposure makes it count."""
    if not caller.reaches(key):
        raise Problem(403, "this key is for other experiments")
    service, context = service_of(request), body.context
    found, new = await service.call(service.flags.one, key, caller, context.targetingKey, context.environment)
    if new:
        service.feed.news(key)
    return JSONResponse(found)


@router.post(
    "/evaluate/flags",
    summary="Evaluate all flags",
    response_model=m.FlagList,
    responses={
        304: {"description": "Nothing has changed since that ETag"},
        400: {"model": m.BulkFailure},
    },
)
async def evaluate_all(
    body: m.FlagRequest,
    request: Request,
    caller: Evaluator,
    known: Annotated[str | None, Header(alias="If-None-Match")] = None,
) -> Response:
    """Say which arm a unit gets of every experiment with a reserve that the key reaches."""
    service, context = service_of(request), body.context
    found, news = await service.call(service.flags.every, caller, context.targetingKey, context.environment)
    for name in news:
        service.feed.news(name)
    tag = f'"{hashlib.sha256(json.dumps(found).encode()).hexdigest()[:32]}"'
    headers = {"ETag": tag}
    if known is not None and tag in (each.strip().removeprefix("W/") for each in known.split(",")):
        return Response(status_code=304, headers=headers)
    streams = await service.call(_streams, service, caller)
    return JSONResponse({"flags": found, "eventStreams": streams}, headers=headers)


@router.get(
    "/stream",
    summary="Hear that flags changed",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream(
    request: Request,
    nobody: Annotated[Key, needs(Right.OPEN)],
    ticket: Annotated[str, Query(max_length=300, description="As in the answer to a bulk evaluation.")],
    seen: Annotated[str, Query(max_length=50)] = "",
    last: Annotated[str | None, Header(alias="Last-Event-ID", max_length=50)] = None,
) -> StreamingResponse:
    """Say when to evaluate again: an experiment began, ended or was paused. Its ticket lets in, not a key."""
    service = service_of(request)
    if not service.keys.fresh:
        await service.call(service.keys.read)
    key = service.keys.of_ticket(ticket)
    if key is None:
        raise Problem(404, "there is no such stream any more: evaluate all flags again")
    service.visitors.check()
    known = last or seen

    async def more() -> list[str]:
        nonlocal known
        found = service.flags.known_version(key)
        found = await service.call(service.flags.version, key) if found is None else found
        if found == known:
            return []
        known = found
        return [message(found, "message", {"type": "refetchEvaluation", "etag": found})]

    return streamed(following(service, key, service.visitors, more, lambda: asyncio.sleep(PAUSE)))


def _streams(service: Service, key: Key) -> list[dict[str, Any]]:
    """Return where to hear of changes, if there is room; blocking."""
    if service.visitors.full:
        return []
    ticket, seen = service.keys.ticket(key, service.settings.session), service.flags.version(key)
    return [{"type": "sse", "endpoint": {"requestUri": f"/ofrep/v1/stream?ticket={ticket}&seen={seen}"}}]


def _wrong(error: RequestValidationError) -> tuple[str, str]:
    """Return the code of a request that is not allowed, and what is wrong with it."""
    first = error.errors()[0]
    where = [part for part in first["loc"] if part != "body"]
    unnamed = where[-1:] == ["targetingKey"] and first["input"] in (None, "")
    if unnamed or (where and first["type"] == "missing"):
        return "TARGETING_KEY_MISSING", "the context needs a targetingKey: the unit that gets an arm"
    code = "INVALID_CONTEXT" if where[:1] == ["context"] else "PARSE_ERROR"
    return code, f"{'.'.join(map(str, where)) or 'the body'}: {first['msg']}"


def _refused(request: Request, problem: Problem) -> Response:
    """Return what the protocol says instead of a problem; it leaves the words to us where it has no code."""
    if problem.status == 404:
        return _failure(request, 404, "FLAG_NOT_FOUND", problem.detail)
    if problem.status == 400:
        return _failure(request, 400, GENERAL, problem.detail)
    raise problem


def _failure(request: Request, status: int, code: str, detail: str) -> JSONResponse:
    said = {"errorCode": code, "errorDetails": escape_control_characters(detail)}
    key = request.path_params.get("key")
    return JSONResponse(said if key is None else {"key": key} | said, status)
