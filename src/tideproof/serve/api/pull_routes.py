"""Pulls: ask, tell, take back; and units: evaluate, expose, what came of it."""

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
from tideproof.serve.experiment_commands import Once, command, do, signed
from tideproof.serve.problem_details import RESPONSES
from tideproof.serve.schemas import pull_schemas as m
from tideproof.serve.schemas.field_types import MANY
from tideproof.serve.service import service_of
from tideproof.serve.unit_evaluation import evaluated

router = APIRouter(prefix="/v1/experiments/{name}", tags=["pulls"], responses=RESPONSES)

Reader = Annotated[Key, needs(Right.READ)]
Evaluator = Annotated[Key, needs(Right.EVALUATE)]
Reporter = Annotated[Key, needs(Right.REPORT)]


@router.post("/ask", summary="Ask which arm to play next")
async def ask(name: str, body: m.AskBody, request: Request, key: Reporter, once: Once = None) -> m.Pulls:
    """Say which arm to play next; what was told before this is known."""
    given = body.model_dump(exclude={"by"}, exclude_none=True)
    found = await command(service_of(request), key, name, once, "ask", by=signed(key, body.by), **given)
    return _pulls(found if isinstance(found, list) else [found])


@router.post("/tell", summary="Tell rewards", status_code=204)
async def tell(name: str, body: m.TellBody, request: Request, key: Reporter, once: Once = None) -> None:
    """Tell rewards of pulls: all or none. A repeat is harmless."""
    pulls, rewards, keys = _columns([(each.pull, each.reward, each.key) for each in body.rewards])
    await command(
        service_of(request), key, name, once, "tell_many", pulls, rewards, signed(key, body.by), keys=keys
    )


@router.post("/tell-summary", summary="Tell many rewards as one summary", status_code=204)
async def tell_summary(
    name: str, body: m.TellSummary, request: Request, key: Reporter, once: Once = None
) -> None:
    """Tell the results of `n` pulls of one arm in one environment; settles the oldest pulls out there."""
    given = body.model_dump(exclude={"by"}, exclude_none=True)
    await command(service_of(request), key, name, once, "tell_summary", by=signed(key, body.by), **given)


@router.post("/correct", summary="Correct a reward", status_code=204)
async def correct(name: str, body: m.Correct, request: Request, key: Reporter, once: Once = None) -> None:
    """Replace the reward that was told of a pull."""
    await command(
        service_of(request), key, name, once, "correct", body.pull, body.reward, by=signed(key, body.by)
    )


@router.post("/cancel", summary="Take pulls back", status_code=204)
async def cancel(name: str, body: m.Cancel, request: Request, key: Reporter, once: Once = None) -> None:
    """Take back pulls whose rewards will never come: all or none; they return to the budget."""
    await command(service_of(request), key, name, once, "cancel_many", body.pulls, by=signed(key, body.by))


@router.get("/pulls", summary="List the pulls that are out")
async def out(
    name: str,
    request: Request,
    key: Reader,
    after: Annotated[str, Query(max_length=200, description="The `next` of the page before.")] = "",
    limit: Annotated[int, Query(ge=1, le=MANY)] = 1000,
) -> m.PullList:
    """List the pulls whose rewards are awaited, the oldest first."""
    service = service_of(request)
    found = await service.call(lambda: service.experiments.get(name).pulls_out())
    if after:
        found = [each for each in found if _number(each.id) > _number(after)]
    page = found[:limit]
    return m.PullList(pulls=_pulls(page).pulls, next=page[-1].id if len(found) > limit else None)


@router.post("/evaluations", summary="Say which arm a unit gets")
async def evaluate(name: str, body: m.Evaluation, request: Request, key: Evaluator) -> m.PullInfo:
    """Say which arm a unit gets, the same each time. It is reserved: an exposure makes it count."""
    service = service_of(request)

    def work() -> tuple[Pull, bool]:
        run = service.experiments.get(name)
        return evaluated(run, key, body.unit, body.environment, service.settings.reservations)

    found, new = await service.call(work)
    if new:
        service.feed.news(name)
    return _info(found)


@router.post("/exposures", summary="Say who saw what they were given", status_code=204)
async def expose(name: str, body: m.Exposures, request: Request, key: Evaluator, once: Once = None) -> None:
    """Note that units saw what they were given: from now on they count. A repeat is harmless."""
    service = service_of(request)

    def work() -> None:
        run = service.experiments.get(name)
        do(run, key, once, "expose", _of(run, body.exposures), by=signed(key, None))

    await service.call(work)
    service.feed.news(name)


@router.post("/outcomes", summary="Say what units brought", status_code=204)
async def outcomes(name: str, body: m.Outcomes, request: Request, key: Reporter, once: Once = None) -> None:
    """Tell what units, or pulls, brought: all or nothing. A unit's rewards are added, once for each key."""
    service = service_of(request)

    def work() -> None:
        run = service.experiments.get(name)
        pulls = _of(run, body.outcomes)
        rewards, keys = [each.reward for each in body.outcomes], [each.key for each in body.outcomes]
        do(run, key, once, "tell_many", pulls, rewards, signed(key, None), keys=keys)

    await service.call(work)
    service.feed.news(name)


def _of(run: Experiment, given: Sequence[m.Exposure]) -> list[str]:
    """Return the ids of pulls that are named by themselves or by their unit."""
    found: list[str] = []
    for each in given:
        if (each.pull is None) == (each.unit is None):
            raise InputError("an exposure or outcome names a pull or a unit, one of them")
        if each.unit is None:
            found.append(str(each.pull))
            continue
        pull = run.pull_of(each.unit)
        if pull is None:
            raise UnknownName(f"the unit {each.unit!r} has no pull: evaluate it first")
        found.append(pull.id)
    return found


def _pulls(found: Sequence[Pull]) -> m.Pulls:
    return m.Pulls(pulls=[_info(each) for each in found])


def _info(pull: Pull) -> m.PullInfo:
    return m.PullInfo(id=pull.id, arm=pull.arm, environment=pull.environment)


def _columns(rows: Sequence[tuple[Any, Any, Any]]) -> tuple[list[Any], ...]:
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def _number(id: str) -> int:
    """Return the number of a pull, by its id."""
    number = id.rpartition("-")[2]
    if not number.isascii() or not number.isdigit() or len(number) > 18:
        raise InputError(f"after must be the next of the page before, not {id!r}")
    return int(number)
