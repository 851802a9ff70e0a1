"""Routes of OFREP, the protocol by which OpenFeature SDKs evaluate experiments as feature flags."""

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
from tideproof.serve.rate_limit import caller_address
from tideproof.serve.schemas import flag_schemas as m
from tideproof.serve.server_sent_events import format_message, stream_messages, streaming_response
from tideproof.serve.service import Service, service_of
from tideproof.serve.unit_evaluation import UnitRequest
from tideproof.serve.validation_messages import describe_request_errors
from tideproof.text import escape_control_characters

PAUSE = 0.5  # seconds between two checks for changed flags
Evaluator = Annotated[Key, needs(Right.EVALUATE)]


class OfrepRoute(APIRoute):
    """Route whose error responses have the format of OFREP, OpenFeature's remote evaluation protocol."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that handles a request to an OFREP route and formats its errors."""
        inner = super().get_route_handler()

        async def served(request: Request) -> Response:
            try:
                return await inner(request)
            except RequestValidationError as error:
                return _failure(request, 400, *_validation_failure(request, error))
            except TideproofError as error:
                return _protocol_response(request, problem_of(error))
            except Problem as error:
                return _protocol_response(request, error)
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
    """Return the arm that the experiment with this name assigns to a unit, such as a visitor.

    The pull is reserved. It counts as soon as the client records an exposure, which reports that the unit
    saw the arm.
    """
    if not caller.reaches(key):
        raise Problem(403, f"this key is restricted to other experiments and may not use {key!r}")
    service, context = service_of(request), body.context
    asked = UnitRequest(key, caller, caller_address(request.scope), context.targetingKey, context.environment)
    found, new = await service.call(service.flags.evaluate, asked)
    if new:
        service.notifier.notify(key)
    return JSONResponse(found)


@router.post(
    "/evaluate/flags",
    summary="Evaluate all flags",
    response_model=m.FlagList,
    responses={
        304: {"description": "Nothing has changed since the response with this ETag"},
        400: {"model": m.BulkFailure},
    },
)
async def evaluate_all(
    body: m.FlagRequest,
    request: Request,
    caller: Evaluator,
    known: Annotated[
        str | None, Header(alias="If-None-Match", description="ETag of the response that the client has.")
    ] = None,
) -> Response:
    """Return the arms that a unit gets from all feature flags that the API key may read.

    A feature flag is an experiment that was created with a `reserve`.
    """
    service, context = service_of(request), body.context
    asked = UnitRequest("", caller, caller_address(request.scope), context.targetingKey, context.environment)

    def work() -> tuple[list[dict[str, Any]], list[str], list[dict[str, Any]]]:
        return *service.flags.evaluate_all(asked), _streams(service, caller)

    found, news, streams = await service.call(work)
    for name in news:
        service.notifier.notify(name)
    tag = f'"{hashlib.sha256(json.dumps(found).encode()).hexdigest()[:32]}"'
    headers = {"ETag": tag}
    if known is not None and tag in (each.strip().removeprefix("W/") for each in known.split(",")):
        return Response(status_code=304, headers=headers)
    return JSONResponse({"flags": found, "eventStreams": streams}, headers=headers)


@router.get(
    "/stream",
    summary="Stream changes of flags",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream(
    request: Request,
    _caller: Annotated[Key, needs(Right.OPEN)],
    ticket: Annotated[
        str, Query(max_length=300, description="Ticket from the response to a bulk evaluation.")
    ],
    seen: Annotated[
        str,
        Query(
            max_length=50,
            description="Version of the evaluations that the client has, from the URL of the stream.",
        ),
    ] = "",
    last: Annotated[
        str | None,
        Header(alias="Last-Event-ID", max_length=50, description="ID of the last message that was received."),
    ] = None,
) -> StreamingResponse:
    """Send a server-sent event whenever a client should evaluate its feature flags again.

    This is the case when an experiment begins, ends or is paused. The ticket, a token with limited validity,
    replaces the API key.
    """
    service = service_of(request)
    if not service.keys.is_fresh:
        await service.call(service.keys.refresh)
    key = service.keys.find_ticket_key(ticket)
    if key is None:
        raise Problem(
            404,
            "the ticket in the URL is not valid or has expired: evaluate all flags again to get a new one",
        )
    service.visitor_notifier.check()
    known = last or seen

    async def more() -> list[str]:
        nonlocal known
        found = service.flags.cached_version(key)
        found = await service.call(service.flags.version, key) if found is None else found
        if found == known:
            return []
        known = found
        return [format_message(found, "message", {"type": "refetchEvaluation", "etag": found})]

    return streaming_response(
        stream_messages(service, key, service.visitor_notifier, more, lambda: asyncio.sleep(PAUSE))
    )


def _streams(service: Service, key: Key) -> list[dict[str, Any]]:
    """Return the URL of the event stream that reports changes of feature flags.

    The result is a list in the format of OFREP, which is empty if too many streams are open. The call
    blocks.
    """
    if service.visitor_notifier.is_full:
        return []
    ticket = service.keys.create_ticket(key, service.settings.session_seconds)
    seen = service.flags.version(key)
    return [{"type": "sse", "endpoint": {"requestUri": f"/ofrep/v1/stream?ticket={ticket}&seen={seen}"}}]


def _validation_failure(request: Request, error: RequestValidationError) -> tuple[str, str]:
    """Return the OFREP error code and the error message for an invalid request."""
    first = error.errors()[0]
    where = [part for part in first["loc"] if part != "body"]
    unnamed = where[-1:] == ["targetingKey"] and first["input"] in (None, "")
    if unnamed or (where and first["type"] == "missing"):
        return "TARGETING_KEY_MISSING", "the context must have a targetingKey: the unit that gets an arm"
    code = "INVALID_CONTEXT" if where[:1] == ["context"] else "PARSE_ERROR"
    return code, describe_request_errors(request, error)


def _protocol_response(request: Request, problem: Problem) -> Response:
    """Return an error as a response in the format of OFREP, a protocol for feature flags.

    The error is raised if OFREP has no format for it.
    """
    if problem.status == 404:
        return _failure(request, 404, "FLAG_NOT_FOUND", problem.detail)
    if problem.status == 400:
        return _failure(request, 400, GENERAL, problem.detail)
    raise problem


def _failure(request: Request, status: int, code: str, detail: str) -> JSONResponse:
    """Return an error response in the format of OFREP, OpenFeature's remote evaluation protocol."""
    body_fields = {"errorCode": code, "errorDetails": escape_control_characters(detail)}
    key = request.path_params.get("key")
    return JSONResponse(body_fields if key is None else {"key": key} | body_fields, status)
