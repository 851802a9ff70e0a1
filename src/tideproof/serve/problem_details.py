"""Errors as RFC 9457 has them, whatever raised them."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from tideproof import errors
from tideproof.store.idempotency_keys import UsedKey
from tideproof.text import escape_control_characters

MEDIA = "application/problem+json"
LOG = logging.getLogger("tideproof.serve")

# The first that an error is an instance of says its status
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
    400: "Bad request", 401: "No valid key", 403: "Not allowed", 404: "Not found", 405: "Method not allowed",
    408: "Too slow", 409: "Conflict", 413: "Too large", 429: "Too many requests",
    500: "Internal error", 503: "Unavailable",
}  # fmt: skip


class ProblemDetails(BaseModel):
    """What went wrong."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:tideproof:Finished",
                    "title": "Conflict",
                    "status": 409,
                    "detail": "asked for 1 pull, 0 of 100 left; select B",
                    "error": "Finished",
                }
            ]
        }
    )
    type: str = Field(description="Which kind of error, as a URN.")
    title: str
    status: int
    detail: str = Field(description="What is wrong, and what is allowed.")
    error: str = Field(description="The name of the error in Python.")


class Problem(HTTPException):
    """An error that the service itself raises; FastAPI lets this kind pass where it reads a body."""

    def __init__(
        self, status: int, detail: str, error: str = "InputError", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, headers)
        self.status, self.error = status, error


def response(problem: Problem) -> JSONResponse:
    """Return a problem as it is sent."""
    said = ProblemDetails(
        type=f"urn:tideproof:{problem.error}",
        title=_TITLES.get(problem.status, "Error"),
        status=problem.status,
        detail=escape_control_characters(problem.detail),
        error=problem.error,
    )
    headers = dict(problem.headers or {})
    if problem.status in (429, 503):
        headers.setdefault("Retry-After", "1")
    return JSONResponse(said.model_dump(), problem.status, headers, MEDIA)


def problem_of(error: errors.TideproofError) -> Problem:
    """Return an error of tideproof as a problem."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 400)
    name = next(cls.__name__ for cls in type(error).__mro__ if cls.__name__ in errors.__all__)
    return Problem(status, str(error), name)


def install(app: FastAPI) -> None:
    """Let every error of an app be a problem."""

    @app.exception_handler(Problem)
    async def own(request: Request, error: Problem) -> JSONResponse:
        return response(error)

    @app.exception_handler(errors.TideproofError)
    async def ours(request: Request, error: errors.TideproofError) -> JSONResponse:
        return response(problem_of(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return response(Problem(400, "; ".join(_said(each) for each in error.errors()[:5])))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        kind = "UnknownName" if error.status_code == 404 else "InputError"
        headers = dict(error.headers) if error.headers else None
        return response(
            Problem(error.status_code, f"{error.detail}: {request.method} {request.url.path}", kind, headers)
        )

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        LOG.error("unexpected", exc_info=error, extra={"fields": {"path": request.url.path}})
        return response(Problem(500, "something unexpected happened; the log says more", "TideproofError"))


def _said(error: Any) -> str:
    """Return a value that is not allowed in one line: where it is, and what is."""
    where = ".".join(str(part) for part in error["loc"] if part != "body") or "the body"
    return f"{where}: {error['msg']}"


RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {
        "description": _TITLES[status],
        "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status in (400, 401, 403, 404, 405, 408, 409, 413, 429, 503)
}
