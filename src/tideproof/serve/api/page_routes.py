"""Routes that return web pages; the routes in `form_routes` receive the forms of these pages."""

from __future__ import annotations

from importlib.resources import files
from pathlib import PurePosixPath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from tideproof.draw.colour_palette import css
from tideproof.errors import TideproofError
from tideproof.experiment.events import event_records as e
from tideproof.experiment.recommendation_text import short_status
from tideproof.report.experiment_report import live_report
from tideproof.report.table_layout import SORTABLE
from tideproof.serve.api import login_routes
from tideproof.serve.auth.access_control import needs
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import ROLES, Right
from tideproof.serve.pages.experiment_view import format_pulls_used
from tideproof.serve.pages.page_rendering import page
from tideproof.serve.pages.page_vocabulary import with_variants
from tideproof.serve.problem_details import Problem
from tideproof.serve.service import Service, service_of
from tideproof.store.backend import ExperimentListing
from tideproof.text import format_count

router = APIRouter(include_in_schema=False)

AnyCaller = Annotated[Key, needs(Right.OPEN)]
Reader = Annotated[Key, needs(Right.READ)]
Editor = Annotated[Key, needs(Right.EDIT)]
Admin = Annotated[Key, needs(Right.ADMIN)]

ROWS = 30  # experiments per page of the list
_MEDIA = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_KINDS = " ".join(sorted(e.KINDS))


@router.get("/")
async def overview(
    request: Request,
    key: Reader,
    after: Annotated[str, Query(max_length=200)] = "",
    archived: Annotated[bool, Query()] = False,
) -> HTMLResponse:
    """Return the web page of all experiments that the API key may read, with their current results.

    Archived experiments have a list of their own.
    """
    service = service_of(request)
    every = [
        each for each in await service.call(service.experiments.list_experiments) if key.reaches(each.name)
    ]
    found = [each for each in every if each.name > after and each.is_archived == archived]
    rows = await service.call(lambda: [_row(service, each) for each in found[:ROWS]])
    more = rows[-1]["name"] if len(found) > ROWS else ""
    others = sum(each.is_archived for each in every)
    return page("overview", key, rows=rows, after=after, more=more, archived=archived, others=others)


def _row(service: Service, each: ExperimentListing) -> dict[str, Any]:
    """Return one row of the web page that lists all experiments."""
    row: dict[str, Any] = {"name": each.name, "pulls": "", "at": each.at, "state": "", "verdict": ""}
    try:
        row |= each.settings
        found = service.experiments.get(each.name).internals.read()
        status = found.status
        verdict = with_variants(short_status(found.recommendation), status.arms)
        row |= {"verdict": verdict, "state": status.state}
        row["pulls"] = format_pulls_used(status.asked, status.budget, status.lost)
    except (TideproofError, ValueError, KeyError, TypeError) as error:
        row |= {"verdict": f"cannot be read: {error}", "state": "unreadable"}
        row["pulls"] = format_count(each.pulls, "pull")
    return row


@router.get("/experiments/{name}")
async def experiment(name: str, request: Request, key: Reader) -> HTMLResponse:
    """Return the web page of one experiment."""
    service = service_of(request)
    found = await service.call(lambda: service.views.get(service.experiments.get(name), name))
    warnings = [*service.visitor_limiter.warnings(name), *found["warnings"]]
    return page("experiment", key, name=name, kinds=_KINDS, said="", **found | {"warnings": warnings})


@router.get("/experiments/{name}/report")
async def report(name: str, request: Request, key: Reader) -> Response:
    """Return the report of an experiment as a self-contained HTML file."""
    service = service_of(request)

    def work() -> str:
        found = service.experiments.get(name).internals.read()
        return live_report(found, found.fit, name)

    return as_file(await service.call(work), name)


def as_file(text: str, name: str) -> Response:
    """Return an HTML page as a download."""
    head = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}.html"}
    return HTMLResponse(text, headers=head)


@router.get("/login")
async def login(_caller: AnyCaller, next: Annotated[str, Query(max_length=2000)] = "/") -> HTMLResponse:
    """Return the web page with the login form."""
    return page("login", None, next=next, said="")


@router.get("/new")
async def new(key: Editor) -> HTMLResponse:
    """Return the web page with the form for a new experiment."""
    return page("new", key, given={}, said="", planned=None)


@router.get("/analyze")
async def analyze(request: Request, key: Reader) -> HTMLResponse:
    """Return the web page with the form for uploading a log of rewards to analyze."""
    limit = service_of(request).settings.upload_bytes
    return page("analyze", key, said="", limit=limit, given={}, shown=None)


@router.get("/keys")
async def keys(request: Request, key: Admin) -> HTMLResponse:
    """Return the web page that lists the API keys, with a form for a new one."""
    return await keys_page(request, key)


async def keys_page(
    request: Request, key: Key, said: str = "", secret: str = "", status: int = 200
) -> HTMLResponse:
    """Return the web page of API keys; it can also show an error message or the secret of a new key."""
    found = (await login_routes.listed(request, key)).keys
    return page("keys", key, status, keys=found[::-1], roles=list(ROLES), said=said, secret=secret)


@router.get("/static/{file}")
async def static(file: str, _caller: AnyCaller) -> Response:
    """Return a static file: the style sheet, the script or the icon."""
    media = _MEDIA.get(PurePosixPath(file).suffix)
    folder = files("tideproof.serve").joinpath("static")
    place = next((each for each in folder.iterdir() if each.name == file), None)
    if media is None or place is None:
        raise Problem(404, "there is no static file with this name", "UnknownName")
    text = place.read_text(encoding="utf-8")
    if media == "text/css":
        text = css() + text
    if file == "pages.js":
        text += SORTABLE
    return Response(
        text,
        media_type=media,
        headers={"Cache-Control": "public, max-age=300"},
    )
