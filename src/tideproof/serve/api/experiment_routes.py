"""Routes that create, list, describe, change and stop experiments."""

from __future__ import annotations

import json
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response

from tideproof.errors import UnknownName
from tideproof.policies.policy_registry import policy
from tideproof.serve import serializers
from tideproof.serve.auth.access_control import needs
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import Right
from tideproof.serve.idempotent_calls import IdempotencyKey, author_of, run_command
from tideproof.serve.problem_details import RESPONSES, Problem
from tideproof.serve.schemas import experiment_schemas as m
from tideproof.serve.service import Service, service_of
from tideproof.store.idempotency_keys import creation_answer

router = APIRouter(prefix="/v1/experiments", tags=["experiments"], responses=RESPONSES)

Reader = Annotated[Key, needs(Right.READ)]
Editor = Annotated[Key, needs(Right.EDIT)]
Admin = Annotated[Key, needs(Right.ADMIN)]


@router.post(
    "",
    status_code=201,
    summary="Create an experiment",
    responses={200: {"description": "The experiment already existed"}},
)
async def begin(
    body: m.ExperimentBody, request: Request, response: Response, key: Editor, once: IdempotencyKey = None
) -> m.ExperimentInfo:
    """Create an experiment.

    If the name is taken, the status is 409. A request with an `Idempotency-Key` and the arms and options of
    the existing experiment, such as a repeated request, returns this experiment with status 200.
    """
    service = service_of(request)
    if not key.reaches(body.name):
        raise Problem(403, f"this key is restricted to other experiments and may not use {body.name!r}")
    if body.name in (".", ".."):
        raise Problem(400, f"name must not be {body.name!r}, which has a special meaning in URLs")
    given = body.model_dump(exclude_unset=True)
    repeatable = None if once is None else creation_answer(f"{key.id}:{once}", given)
    name, arms = given.pop("name"), given.pop("arms")

    def work() -> tuple[dict[str, Any], bool]:
        options = given.pop("policy_options", {})
        if "name" in options:
            raise Problem(
                400,
                "policy_options must not contain 'name': the name of the policy belongs in the field policy",
            )
        try:
            if "policy" in given or options:
                given["policy"] = policy(given.get("policy", "contrast"), **options)
            status, new = service.experiments.create(name, arms, given, author_of(key, None), repeatable)
        except UnknownName as error:
            raise Problem(400, str(error), "UnknownName") from None
        return serializers.experiment(status, name), new

    found, new = await service.call(work)
    service.flags.forget_list()
    response.status_code = 201 if new else 200
    response.headers["Location"] = f"{router.prefix}/{quote(name, safe='')}"
    return m.ExperimentInfo(**found)


@router.get("", summary="List experiments")
async def listed(
    request: Request,
    key: Reader,
    after: Annotated[
        str, Query(max_length=200, description="Value of `next` in the response with the previous page.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of experiments per page.")] = 100,
    archived: Annotated[
        bool, Query(description="List the archived experiments instead of the others.")
    ] = False,
) -> m.ExperimentList:
    """List the experiments that the API key may read, sorted by name, without archived ones."""
    service = service_of(request)
    found = [
        each
        for each in await service.call(service.experiments.list_experiments)
        if each.name > after and key.reaches(each.name) and each.is_archived == archived
    ]
    page = [
        m.ListedExperiment(
            name=each.name, pulls=each.pulls, events=each.events, last_at=each.at, **json.loads(each.about)
        )
        for each in found[:limit]
    ]
    return m.ExperimentList(experiments=page, next=page[-1].name if len(found) > limit else None)


@router.get("/{name}", summary="Describe an experiment")
async def describe(name: str, request: Request, key: Reader) -> m.ExperimentInfo:
    """Return the settings and the progress of an experiment."""
    return await _info(service_of(request), name)


@router.post("/{name}/changes", summary="Change an experiment")
async def change(
    name: str, body: m.ChangeBody, request: Request, key: Editor, once: IdempotencyKey = None
) -> m.ExperimentInfo:
    """Make one change to an experiment, such as a new arm, a new budget, a pause or a note.

    A change adds or retires an arm, sets the budget, pauses, resumes, archives or restores the experiment,
    adds a note, or deletes the salt with which the identifiers of units are hashed ("forget-units"), or the
    hash of one unit ("forget-unit").
    """
    method, args = _METHODS[body.change]
    given = [getattr(body, each) for each in args]
    service = service_of(request)
    await run_command(service, key, name, once, method, *given, by=author_of(key, body.by))
    service.flags.forget_list()
    return await _info(service, name)


@router.post("/{name}/stop", summary="Stop an experiment")
async def stop(
    name: str, body: m.StopBody, request: Request, key: Editor, once: IdempotencyKey = None
) -> m.ExperimentInfo:
    """Stop the experiment permanently. Rewards of pending pulls can still be reported.

    Every visitor then gets the arm `ship` or, without it, the arm that the stopping rule has found to be the
    best. If there is neither, nothing is shipped.
    """
    service = service_of(request)
    await run_command(service, key, name, once, "stop", body.why, author_of(key, body.by), ship=body.ship)
    service.flags.forget_list()
    return await _info(service, name)


@router.post("/{name}/looks", summary="Make a planned look")
async def look(
    name: str, body: m.LookBody, request: Request, key: Editor, once: IdempotencyKey = None
) -> m.RecommendationInfo:
    """Make a look of an experiment with planned looks: record it, and return the recommendation.

    If the look names one arm the best, every visitor gets this arm. A repeated request spends nothing while
    no further reward was recorded.
    """
    service = service_of(request)
    found = await run_command(service, key, name, once, "look", body.look, author_of(key, body.by))
    service.flags.forget_list()
    return m.RecommendationInfo(**await service.call(serializers.recommendation, found))


@router.delete("/{name}", summary="Delete an experiment", status_code=204)
async def delete(name: str, request: Request, key: Admin) -> None:
    """Delete an experiment with all its events, pulls and rewards. This cannot be undone."""
    service = service_of(request)
    await service.call(service.experiments.delete, name)
    service.flags.forget_list()
    service.notifier.notify(name)


# Method that each change calls, and the fields that are its arguments
_METHODS: dict[str, tuple[str, tuple[str, ...]]] = {
    "add-arm": ("add_arm", ("arm",)),
    "retire-arm": ("retire_arm", ("arm",)),
    "budget": ("extend", ("budget",)),
    "pause": ("pause", ("why",)),
    "resume": ("resume", ("why",)),
    "archive": ("archive", ("why",)),
    "restore": ("restore", ("why",)),
    "note": ("note", ("text",)),
    "forget-units": ("forget_units", ()),
    "forget-unit": ("forget_unit", ("unit",)),
}


async def _info(service: Service, name: str) -> m.ExperimentInfo:
    """Return the current settings and progress of an experiment as a response body."""
    found = await service.call(lambda: service.experiments.get(name).internals.status())
    return m.ExperimentInfo(**serializers.experiment(found, name))
