"""Routes that receive the forms of web pages; they run the same commands as the JSON API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import UploadFile

from tideproof.errors import TideproofError
from tideproof.experiment.reward_kinds import REWARD_KINDS
from tideproof.serve.api import experiment_routes, login_routes
from tideproof.serve.api.page_routes import as_file, keys_page
from tideproof.serve.auth.access_control import needs
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import Right
from tideproof.serve.pages.option_labels import CHANGE_LABELS, KEY_LABELS, NEW_LABELS, name_fields
from tideproof.serve.pages.page_rendering import page, redirect
from tideproof.serve.pages.page_vocabulary import with_variants
from tideproof.serve.pages.upload_process import UploadForm
from tideproof.serve.pages.upload_runner import analyze_upload
from tideproof.serve.problem_details import Problem
from tideproof.serve.schemas import experiment_schemas as m
from tideproof.serve.schemas.key_schemas import KeyBody
from tideproof.serve.service import service_of
from tideproof.serve.validation_messages import describe_validation_errors

router = APIRouter(include_in_schema=False)

AnyCaller = Annotated[Key, needs(Right.OPEN)]
KeyHolder = Annotated[Key, needs(Right.ANY)]
Reader = Annotated[Key, needs(Right.READ)]
Editor = Annotated[Key, needs(Right.EDIT)]
Admin = Annotated[Key, needs(Right.ADMIN)]

RUNS = 2000  # simulated experiments per budget; more would take minutes instead of seconds
_NUMBERS = ("budget", "lease", "reserve", "confidence")
_CHANGE: TypeAdapter[Any] = TypeAdapter(m.ChangeBody)
_WRONG = (Problem, TideproofError, ValidationError)


@router.post("/login")
async def log_in(request: Request, _caller: AnyCaller) -> Response:
    """Log in with an API key that may read experiments."""
    login_routes.check_given_origin(request)
    service, given = service_of(request), await _fields(request)
    back = given.get("next", "/")
    try:
        key = await login_routes.find_key(request, service, given.get("key", ""))
        if not key.may(Right.READ):
            raise Problem(
                403,
                f"a key with the role {key.role!r} cannot open pages; use a key with the role viewer, "
                f"reporter, editor or admin",
            )
    except Problem as problem:
        said = "this API key is unknown or was revoked" if problem.status == 401 else problem.detail
        return page("login", None, problem.status, next=back, said=said)
    response = redirect(back if _is_own_page(back) else "/")
    await login_routes.begin_session(request, response, service, key, given.get("person", "")[:100])
    return response


@router.post("/logout")
async def log_out(request: Request, key: KeyHolder) -> Response:
    """End the login session of the browser."""
    response = redirect("/login")
    await login_routes.end_session(request, response, service_of(request))
    return response


@router.post("/new")
async def new(request: Request, key: Editor) -> Response:
    """Handle the form for a new experiment: create the experiment, or simulate which budget it needs."""
    given = await _fields(request)
    try:
        if given.get("do") == "plan":
            found = await service_of(request).call(lambda: _run_plan(given))
            if found["filled"]:
                given["budget"] = str(found["budget"])
            return page("new", key, given=given, said="", planned=found)
        body = m.ExperimentBody(**_experiment_fields(given))
        await experiment_routes.begin(body, request, Response(), key, None)
    except _WRONG as error:
        said = with_variants(_error_text(error, NEW_LABELS), [*_arms(given), *_lines(given, "environments")])
        return page("new", key, _error_status(error), given=given, said=said, planned=None)
    return redirect(f"/experiments/{quote(body.name, safe='')}")


@router.post("/experiments/{name}")
async def change(name: str, request: Request, key: Editor) -> Response:
    """Change an experiment: add a note, pause, resume, stop, set the budget, add or retire an arm."""
    given = {each: value for each, value in (await _fields(request)).items() if value}
    service = service_of(request)
    try:
        if given.get("change") == "stop":
            body = m.StopBody(
                why=given.get("why", ""), ship=given.get("ship") or None, by=given.get("by") or None
            )
            await experiment_routes.stop(name, body, request, key)
        else:
            if "budget" in given:
                given["budget"] = _whole("budget", given["budget"])  # type: ignore[assignment]
            await experiment_routes.change(name, _CHANGE.validate_python(given), request, key)
    except _WRONG as error:
        found = await service.call(lambda: service.views.get(service.experiments.get(name), name))
        said = _error_text(error, CHANGE_LABELS)
        return page("experiment", key, _error_status(error), name=name, kinds="", said=said, **found)
    return redirect(f"/experiments/{quote(name, safe='')}")


@router.post("/experiments/{name}/delete")
async def delete(name: str, request: Request, key: Admin) -> Response:
    """Delete an experiment if its name was typed to confirm that."""
    typed = (await _fields(request)).get("typed", "")
    service = service_of(request)
    if typed != name.strip():
        found = await service.call(lambda: service.views.get(service.experiments.get(name), name))
        said = f"nothing was deleted: “{CHANGE_LABELS['typed']}” must be {name!r}, not {typed!r}"
        return page("experiment", key, 400, name=name, kinds="", said=said, **found)
    await experiment_routes.delete(name, request, key)
    return redirect("/")


@router.post("/analyze")
async def analyze(request: Request, key: Reader) -> Response:
    """Analyze an uploaded log of rewards without storing it."""
    service = service_of(request)
    limit = service.settings.upload_bytes
    async with request.form(max_files=1, max_fields=20) as form:
        given = {name: value.strip() for name, value in form.items() if isinstance(value, str)}
        file = form.get("file")
        try:
            if not isinstance(file, UploadFile) or not file.filename:
                raise Problem(400, "choose a file to analyze")
            name = file.filename
            asked = UploadForm(
                arm=given.get("arm") or None,
                environment=given.get("environment") or None,
                reward=given.get("reward") or None,
                successes=given.get("successes") or None,
                n=given.get("n") or None,
                variance=given.get("variance") or "auto",
                scale=given.get("scale") or "auto",
                minimize=given.get("minimize") == "yes",
                adaptive=given.get("adaptive") == "yes",
                drop_missing=given.get("drop_missing") == "yes",
            )
            as_file_wanted = given.get("do") == "file"
            found = await service.call(
                analyze_upload, file.file, name, asked, as_file_wanted, service.settings
            )
        except _WRONG as error:
            return page(
                "analyze",
                key,
                _error_status(error),
                said=with_variants(_error_text(error)),
                limit=limit,
                given=given,
                shown=None,
            )
    if as_file_wanted:
        return as_file(found["result"], name)
    return page("analyze", key, said="", limit=limit, given=given, shown=found)


@router.post("/keys")
async def make(request: Request, key: Admin) -> Response:
    """Create an API key and show its secret, which cannot be shown again."""
    given = await _fields(request)
    names = [name.strip() for name in given.get("experiments", "").split("\n") if name.strip()]
    try:
        body = KeyBody(name=given.get("name", ""), role=given.get("role", ""), experiments=names or None)  # type: ignore[arg-type]
        made = await login_routes.make(body, request, key)
    except _WRONG as error:
        said = _error_text(error, KEY_LABELS)
        return await keys_page(request, key, said, status=_error_status(error))
    return await keys_page(request, key, f"{made.name}, {made.role}", made.secret)


@router.post("/keys/{id}")
async def take_back(id: str, request: Request, key: Admin) -> Response:
    """Revoke an API key."""
    try:
        await login_routes.revoke(id, request, key)
    except _WRONG as error:
        return await keys_page(request, key, _error_text(error), status=_error_status(error))
    return redirect("/keys")


async def _fields(request: Request) -> dict[str, str]:
    """Return the fields of a submitted form, without surrounding blanks."""
    async with request.form(max_files=0, max_fields=50) as form:
        return {name: value.strip() for name, value in form.items() if isinstance(value, str)}


def _experiment_fields(given: dict[str, str]) -> dict[str, Any]:
    """Return the filled-in fields of the form for a new experiment, as arguments of an API request."""
    words = ("name", "policy", "rewards", "direction", "rule", "time_zone", "control")
    found: dict[str, Any] = {name: given[name] for name in words if given.get(name)}
    found["arms"] = _arms(given)
    if environments := _lines(given, "environments"):
        found["environments"] = environments
    for name in _NUMBERS:
        if text := given.get(name):
            found[name] = _whole(name, text) if name == "budget" else _number(name, text)
    if given.get("visitors") == "yes":
        found["visitors"] = True
    if "confidence" not in found:
        found.pop("rule", None)
    return found


def _arms(given: dict[str, str]) -> list[str]:
    """Return the names of the arms in a form, which has a text field with one name per line."""
    return _lines(given, "arms")


def _lines(given: dict[str, str], name: str) -> list[str]:
    """Return the lines of a text field that are not empty."""
    return [line.strip() for line in given.get(name, "").splitlines() if line.strip()]


def _run_plan(given: dict[str, str]) -> dict[str, Any]:
    """Find by simulation which budget the experiment described in a form needs.

    The call blocks.
    """
    # imported here because it imports the simulator, which the service needs for nothing else
    from tideproof.plans.planner import plan_with_names

    binary = any(kind.binary for name, kind in REWARD_KINDS.items() if name == given.get("rewards"))
    names = ("rate", "lift") if binary else ("gap", "sigma")
    wanted: dict[str, Any] = {name: _number(name, given[name]) for name in names if given.get(name)}
    per = given.get("per_environment")
    found = plan_with_names(
        _spell_plan_field,
        arms=len(_arms(given)),
        per_environment=_whole("per_environment", per) if per else None,
        error=_number("error", given.get("error") or "0.05"),
        replications=RUNS,
        **wanted,
    )
    return {
        "sentence": with_variants(found.sentence),
        "budget": found.budget,
        "filled": not given.get("budget"),
        "designs": found.table.to_dicts(),
    }


def _spell_plan_field(name: str) -> str:
    """Return the quoted label of a field in the form for new experiments.

    >>> _spell_plan_field("per_environment"), _spell_plan_field("arms")
    ('“Pulls per day”', 'the number of variants')
    """
    if name == "arms":
        return "the number of variants"
    return f"“{NEW_LABELS[name]}”" if name in NEW_LABELS else f"the number of {name}"


def _number(name: str, text: str) -> float:
    """Convert the text of a form field to a number, or raise an error."""
    try:
        return float(text)
    except ValueError:
        raise Problem(400, f"{name} must be a number, not {text!r}") from None


def _whole(name: str, text: str) -> int:
    """Convert the text of a form field to a whole number; commas between digits are ignored."""
    try:
        return int(text.replace(",", ""))
    except ValueError:
        raise Problem(400, f"{name} must be a whole number, not {text!r}") from None


def _is_own_page(path: str) -> bool:
    """Return whether a URL path leads to a page of this service, and not to another web site.

    >>> _is_own_page("/experiments/a"), _is_own_page("//evil.example"), _is_own_page("https://evil.example")
    (True, False, False)
    """
    return path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()


def _error_text(error: Exception, labels: Mapping[str, str] | None = None) -> str:
    """Return the message for an error in a submitted form; it names the fields by their labels."""
    text = str(error)
    if isinstance(error, Problem):
        text = error.detail
    elif isinstance(error, ValidationError):
        text = describe_validation_errors(error)
    return text if labels is None else name_fields(text, labels)


def _error_status(error: Exception) -> int:
    """Return the HTTP status for an error in a submitted form."""
    return error.status if isinstance(error, Problem) else 400
