"""Errors of the HTTP service as problem details (RFC 9457)."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from tideproof import errors
from tideproof.serve.validation_messages import describe_request_errors
from tideproof.store.idempotency_keys import UsedKey
from tideproof.text import escape_control_characters

MEDIA = "application/problem+json"
LOG = logging.getLogger("tideproof.serve")

# HTTP status of an error: that of the first class that it is an instance of
_STATUS: tuple[tuple[type[errors.TideproofError], int], ...] = (
    (errors.UnknownName, 404),
    (errors.ConflictingReward, 409),
    (UsedKey, 409),
    (errors.InputError, 400),
    (errors.Finished, 409),
    (errors.NotComparable, 409),
    (errors.StoreError, 503),
)
_TITLES = {
    400: "Bad request", 401: "Unauthorized", 403: "Forbidden", 404: "Not found", 405: "Method not allowed",
    408: "Request timeout", 409: "Conflict", 413: "Content too large", 429: "Too many requests",
    500: "Internal error", 503: "Unavailable",
}  # fmt: skip
_UNREADABLE = "There was an error parsing the body"  # what FastAPI says about a body that is not UTF-8


class ProblemDetails(BaseModel):
    """Body of an error response (RFC 9457)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:tideproof:Finished",
                    "title": "Conflict",
                    "status": 409,
                    "detail": "the budget is used up: 1 pull was requested, but 0 of 100 are left; "
                    "the selected arm is B",
                    "error": "Finished",
                }
            ]
        }
    )
    type: str = Field(description="Kind of error, as a URN.")
    title: str
    status: int
    detail: str = Field(description="What is wrong, and which values are allowed.")
    error: str = Field(description="Name of the Python exception.")


class Problem(HTTPException):
    """Error that the service itself raises, with an HTTP status.

    It derives from `HTTPException` because FastAPI replaces other errors that occur while it reads a body.
    """

    def __init__(
        self, status: int, detail: str, error: str = "InputError", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, headers)
        self.status, self.error = status, error


def response(problem: Problem) -> JSONResponse:
    """Return an error of the service as an HTTP response with problem details (RFC 9457)."""
    details = ProblemDetails(
        type=f"urn:tideproof:{problem.error}",
        title=_TITLES.get(problem.status, "Error"),
        status=problem.status,
        detail=escape_control_characters(problem.detail),
        error=problem.error,
    )
    headers = dict(problem.headers or {})
    if problem.status in (429, 503):
        headers.setdefault("Retry-After", "1")
    return JSONResponse(details.model_dump(), problem.status, headers, MEDIA)


def problem_of(error: errors.TideproofError) -> Problem:
    """Convert an exception of tideproof to an HTTP error."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 400)
    name = next(cls.__name__ for cls in type(error).__mro__ if cls.__name__ in errors.__all__)
    return Problem(status, str(error), name)


def install(app: FastAPI) -> None:
    """Register exception handlers that turn every error of an application into problem details."""

    @app.exception_handler(Problem)
    async def own(request: Request, error: Problem) -> JSONResponse:
        return response(error)

    @app.exception_handler(errors.TideproofError)
    async def ours(request: Request, error: errors.TideproofError) -> JSONResponse:
        return response(problem_of(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return response(Problem(400, describe_request_errors(request, error)))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        return response(problem_of_request(request, error))

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        LOG.error("unhandled exception", exc_info=error, extra={"fields": {"path": request.url.path}})
        said = "an unexpected error occurred: see the log of the service for details"
        return response(Problem(500, said, "TideproofError"))


def problem_of_request(request: Request, error: HTTPException) -> Problem:
    """Return the HTTP error for a request that the framework refused, such as one for an unknown path."""
    path, status = request.url.path, error.status_code
    headers = dict(error.headers) if error.headers else None
    if status == 404:
        return Problem(404, f"the path {path} does not exist", "UnknownName", headers)
    if status == 405:
        return Problem(405, f"the path {path} does not accept {request.method} requests", headers=headers)
    if status == 400 and error.detail == _UNREADABLE:
        return Problem(400, "the body of the request cannot be read: it must be JSON in UTF-8")
    return Problem(status, f"the request was refused: {error.detail}", headers=headers)


RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {
        "description": _TITLES[status],
        "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status in (400, 401, 403, 404, 405, 408, 409, 413, 429, 503)
}
