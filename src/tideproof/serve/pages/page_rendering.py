"""Rendering of web pages from templates, and of error pages for browsers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import quote

import jinja2
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from tideproof import errors
from tideproof._version import __version__
from tideproof.data.sources.duckdb_files import UPLOAD_KINDS
from tideproof.experiment.reward_kinds import REWARD_KINDS
from tideproof.report.event_text import format_age, format_time
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import Right
from tideproof.serve.pages import option_labels
from tideproof.serve.problem_details import Problem, problem_of, problem_of_request
from tideproof.serve.validation_messages import describe_request_errors
from tideproof.text import as_sentence, escape_control_characters

_PROGRAMS = ("/v1/", "/ofrep/", "/healthz", "/readyz", "/metrics")
_TITLES = {403: "Not allowed", 404: "Not found", 413: "File too large", 429: "Too many requests"}


@lru_cache(1)
def _templates() -> jinja2.Environment:
    """Return the Jinja2 template engine with the filters and global names that the pages use."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("tideproof.serve"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"time": format_time, "age": format_age, "path": lambda text: quote(str(text), safe="")}
    made.filters["sentence"] = as_sentence
    made.filters["printable"] = lambda text: escape_control_characters(str(text))
    labels = ("LABELS", "VARIANCES", "SCALES", "NEW_LABELS", "MODELS", "KEY_LABELS", "CHANGE_LABELS")
    made.globals |= {"version": __version__} | {name: getattr(option_labels, name) for name in labels}
    made.globals |= {"reward_kinds": REWARD_KINDS, "UPLOAD_KINDS": UPLOAD_KINDS}
    return made


def render_part(template: str, /, **context: Any) -> str:
    """Return a part of a web page as HTML, made from a template."""
    return _templates().get_template(f"{template}.html").render(**context)


def page(template: str, key: Key | None, status: int = 200, /, **context: Any) -> HTMLResponse:
    """Return a web page that is made from a template.

    The menu of the page lists what the API key may see.
    """
    made = _templates().get_template(f"{template}.html")
    rights = {right.value: key is not None and key.may(right) for right in Right}
    return HTMLResponse(made.render(key=key, may=rights, here=template, **context), status)


def redirect(path: str) -> RedirectResponse:
    """Return a redirect to a page, after a form was submitted."""
    return RedirectResponse(path, 303)


def is_for_people(request: Request) -> bool:
    """Return whether a request comes from a browser that displays pages."""
    wanted = "text/html" in request.headers.get("accept", "")
    return wanted and not request.url.path.startswith(_PROGRAMS)


def problem_page(request: Request, problem: Problem) -> Response:
    """Return an error as a web page.

    If an API key is missing, return a redirect to the login page.
    """
    if problem.status == 401 and request.url.path != "/login":
        back = request.url.path if request.method == "GET" else "/"
        return redirect(f"/login?next={quote(back, safe='')}")
    found = page(
        "problem",
        None,
        problem.status,
        title=_TITLES.get(problem.status, "Error"),
        said=escape_control_characters(problem.detail),
    )
    for header, value in (problem.headers or {}).items():
        found.headers[header] = value
    return found


def install(app: FastAPI) -> None:
    """Register exception handlers that show errors as pages in browsers, and as JSON in programs."""

    def either(kind: type[Exception], problem: Any) -> None:
        before: Any = app.exception_handlers[kind]

        async def handle(request: Request, error: Exception) -> Response:
            if is_for_people(request):
                return problem_page(request, problem(request, error))
            found: Response = await before(request, error)
            return found

        app.add_exception_handler(kind, handle)

    either(Problem, lambda request, error: error)
    either(errors.TideproofError, lambda request, error: problem_of(error))
    either(
        RequestValidationError,
        lambda request, error: Problem(400, describe_request_errors(request, error)),
    )
    either(HTTPException, problem_of_request)
