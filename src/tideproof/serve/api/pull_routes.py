"""Routes for pulls: assign arms, record and correct rewards, cancel pulls, and record that units saw arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from tideproof.errors import InputError, UnknownName
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.pull import Pull
from tideproof.serve.auth.access_control import needs
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import Right
from tideproof.serve.idempotent_calls import IdempotencyKey, author_of, run_command, run_method
from tideproof.serve.problem_details import RESPONSES
from tideproof.serve.rate_limit import caller_address
from tideproof.serve.schemas import pull_schemas as m
from tideproof.serve.schemas.field_types import MANY
from tideproof.serve.service import service_of
from tideproof.serve.unit_evaluation import UnitRequest

router = APIRouter(prefix="/v1/experiments/{name}", tags=["pulls"], responses=RESPONSES)

Reader = Annotated[Key, needs(Right.READ)]
Evaluator = Annotated[Key, needs(Right.EVALUATE)]
Reporter = Annotated[Key, needs(Right.REPORT)]


@router.post("/ask", summary="Ask for the next pulls")
async def ask(
    name: str, body: m.AskBody, request: Request, key: Reporter, once: IdempotencyKey = None
) -> m.AssignedPulls:
    """Assign arms and return the new pulls. The choice of arms uses all rewards recorded so far."""
    given = body.model_dump(exclude={"by"}, exclude_none=True)
    service = service_of(request)
    found = await run_command(service, key, name, once, "ask", by=author_of(key, body.by), **given)
    run = await service.call(lambda: service.experiments.get(name))
    pulls = _pulls(found if isinstance(found, list) else [found]).pulls
    return m.AssignedPulls(pulls=pulls, chosen=run.internals.state.settings.environments is not None)


@router.post("/tell", summary="Record rewards", status_code=204)
async def tell(
    name: str, body: m.TellBody, request: Request, key: Reporter, once: IdempotencyKey = None
) -> None:
    """Record rewards of pulls: either all are recorded, or none. Repeating a request has no effect."""
    pulls, rewards, keys = _columns([(each.pull, each.reward, each.key) for each in body.rewards])
    await run_command(
        service_of(request), key, name, once, "tell_many", pulls, rewards, author_of(key, body.by), keys=keys
    )


@router.post("/tell-summary", summary="Record a summary of rewards", status_code=204)
async def tell_summary(
    name: str, body: m.TellSummaryBody, request: Request, key: Reporter, once: IdempotencyKey = None
) -> None:
    """Record a summary of the rewards of one arm in one environment, such as their number and mean.

    The rewards are assigned to the oldest pending pulls of that arm and environment.
    """
    given = body.model_dump(exclude={"by"}, exclude_none=True)
    await run_command(
        service_of(request), key, name, once, "tell_summary", by=author_of(key, body.by), **given
    )


@router.post("/correct", summary="Correct a reward", status_code=204)
async def correct(
    name: str, body: m.CorrectBody, request: Request, key: Reporter, once: IdempotencyKey = None
) -> None:
    """Replace the recorded reward of a pull."""
    await run_command(
        service_of(request), key, name, once, "correct", body.pull, body.reward, by=author_of(key, body.by)
    )


@router.post("/cancel", summary="Cancel pulls", status_code=204)
async def cancel(
    name: str, body: m.CancelBody, request: Request, key: Reporter, once: IdempotencyKey = None
) -> None:
    """Cancel pulls whose rewards will never arrive, and return them to the budget: either all, or none."""
    await run_command(
        service_of(request), key, name, once, "cancel_many", body.pulls, by=author_of(key, body.by)
    )


@router.get("/pulls", summary="List pending pulls")
async def list_pending_pulls(
    name: str,
    request: Request,
    key: Reader,
    after: Annotated[
        str, Query(max_length=200, description="Value of `next` in the response with the previous page.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=MANY, description="Maximum number of pulls per page.")] = 1000,
) -> m.PullList:
    """List the pending pulls, oldest first."""
    service = service_of(request)
    found = await service.call(lambda: service.experiments.get(name).pending_pulls())
    if after:
        found = [each for each in found if _number(each.id) > _number(after)]
    page = found[:limit]
    return m.PullList(pulls=_pulls(page).pulls, next=page[-1].id if len(found) > limit else None)


@router.post("/evaluations", summary="Get the arm of a unit")
async def evaluate(name: str, body: m.EvaluationBody, request: Request, key: Evaluator) -> m.PullInfo:
    """Return the arm of a unit, such as a visitor; a unit always gets the same arm.

    In an experiment with a `reserve`, the pull is reserved. It counts as soon as the client records an
    exposure, which reports that the unit saw the arm.
    """
    service = service_of(request)
    asked = UnitRequest(name, key, caller_address(request.scope), body.unit, body.environment)

    def work() -> tuple[Pull, bool]:
        return service.units.evaluate(service.experiments.get(name), asked)

    found, new = await service.call(work)
    if new:
        service.notifier.notify(name)
    return _info(found)


@router.post("/exposures", summary="Record exposures", status_code=204)
async def expose(
    name: str, body: m.ExposuresBody, request: Request, key: Evaluator, once: IdempotencyKey = None
) -> None:
    """Record that units, such as visitors, saw their arms; repeating a request has no effect.

    After that, the rewards of their pulls count.
    """
    service = service_of(request)

    def work() -> None:
        run = service.experiments.get(name)
        run_method(run, key, once, "expose", _pull_ids(run, body.exposures), by=author_of(key, None))

    await service.call(work)
    service.notifier.notify(name)


@router.post("/outcomes", summary="Record outcomes of units", status_code=204)
async def outcomes(
    name: str, body: m.OutcomesBody, request: Request, key: Reporter, once: IdempotencyKey = None
) -> None:
    """Record rewards of units or of pulls: either all are recorded, or none.

    Several rewards of a unit are added up. A reward with a `key` is counted once, even if it is repeated.
    """
    service = service_of(request)

    def work() -> None:
        run = service.experiments.get(name)
        pulls = _pull_ids(run, body.outcomes)
        rewards, keys = [each.reward for each in body.outcomes], [each.key for each in body.outcomes]
        run_method(run, key, once, "tell_many", pulls, rewards, author_of(key, None), keys=keys)

    await service.call(work)
    service.notifier.notify(name)


def _pull_ids(run: Experiment, given: Sequence[m.Exposure]) -> list[str]:
    """Return the IDs of the pulls whose rewards or exposures a request reports.

    An item of the request names a pull or a unit, such as a visitor.
    """
    found: list[str] = []
    for each in given:
        if (each.pull is None) == (each.unit is None):
            raise InputError(
                f"an exposure or outcome must have either a pull or a unit, not pull={each.pull!r} and "
                f"unit={each.unit!r}"
            )
        if each.unit is None:
            found.append(str(each.pull))
            continue
        pull = run.pull_of(each.unit)
        if pull is None:
            raise UnknownName(f"the unit {each.unit!r} has no pull: request its arm first (POST evaluations)")
        found.append(pull.id)
    return found


def _pulls(found: Sequence[Pull]) -> m.Pulls:
    """Return pulls (assignments of arms) as a response body."""
    return m.Pulls(pulls=[_info(each) for each in found])


def _info(pull: Pull) -> m.PullInfo:
    """Return a pull (an assignment of an arm) as a response body."""
    return m.PullInfo(id=pull.id, arm=pull.arm, environment=pull.environment)


def _columns(rows: Sequence[tuple[Any, Any, Any]]) -> tuple[list[Any], ...]:
    """Convert a list of three-part items from a request to three lists, one for each part."""
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def _number(id: str) -> int:
    """Return the sequence number of a pull, which is the last part of its id."""
    number = id.rpartition("-")[2]
    if not number.isascii() or not number.isdigit() or len(number) > 18:
        raise InputError(
            f"after must be the value of next in the response with the previous page, not {id!r}"
        )
    return int(number)
