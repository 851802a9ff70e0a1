"""Pulls and what they brought, as OpenAPI has them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, StrictInt

from tideproof.serve.schemas.field_types import MANY, WHOLE, Body, By, Label, Number, Short, Unit, example


class AskBody(Body):
    """Which arm next? Without an environment, where the last pull was."""

    model_config = example({"environment": "monday"}, {"environment": "monday", "n": 10})
    environment: Label | None = None
    n: Annotated[StrictInt | None, Field(ge=1, le=MANY, description="Number of pulls.")] = None
    unit: Unit | None = None
    by: By = None


class Evaluation(Body):
    """Which arm does a unit get? The same each time."""

    model_config = example({"unit": "visitor-42", "environment": "monday"})
    unit: Unit
    environment: Label | None = None


class PullInfo(BaseModel):
    """Play this arm, then tell the reward under this id."""

    id: str
    arm: str
    environment: Label


class Pulls(BaseModel):
    """Pulls, in the order of asking."""

    pulls: list[PullInfo]


class PullList(Pulls):
    """Pulls that are out."""

    next: str | None = Field(description="`after` of the next page; null on the last one.")


class Reward(Body):
    """What a pull brought."""

    pull: Short
    reward: Number
    key: Annotated[Short | None, Field(description="Of a unit: makes a repeat harmless.")] = None


class TellBody(Body):
    """Rewards of pulls: all of them are taken in, or none."""

    model_config = example({"rewards": [{"pull": "9f86d08188-0", "reward": 12.5}]})
    rewards: Annotated[list[Reward], Field(max_length=MANY)]
    by: By = None


class Correct(Body):
    """Another reward than was told."""

    model_config = example({"pull": "9f86d08188-0", "reward": 12.5})
    pull: Short
    reward: Number
    by: By = None


class TellSummary(Body):
    """The results of `n` pulls of one arm in one environment."""

    model_config = example(
        {"arm": "B", "environment": "tuesday", "n": 40, "mean": 1.2, "variance": 0.9, "key": "tue-B"}
    )
    arm: Short
    environment: Label
    n: Annotated[StrictInt, Field(ge=1, le=10**12)]
    mean: Number | None = None
    variance: Number | None = None
    successes: Annotated[StrictInt | None, Field(ge=0, le=10**12)] = None
    total: Annotated[StrictInt | None, Field(ge=0, le=WHOLE)] = None
    key: Short | None = None
    by: By = None


class Cancel(Body):
    """Pulls whose rewards will never come: all are taken back, or none."""

    model_config = example({"pulls": ["9f86d08188-1"]})
    pulls: Annotated[list[Short], Field(max_length=MANY)]
    by: By = None


class Exposure(Body):
    """A unit saw what it was given: the pull, or the unit."""

    pull: Short | None = None
    unit: Unit | None = None


class Exposures(Body):
    """Who saw what they were given: all are noted, or none."""

    model_config = example({"exposures": [{"unit": "visitor-42"}]})
    exposures: Annotated[list[Exposure], Field(max_length=MANY)]


class Outcome(Exposure):
    """What a unit, or a pull, brought."""

    reward: Number
    key: Annotated[Short | None, Field(description="Such as the number of an order: it counts once.")] = None


class Outcomes(Body):
    """What units brought: all is taken in, or nothing."""

    model_config = example({"outcomes": [{"unit": "visitor-42", "reward": 20.0, "key": "order 7"}]})
    outcomes: Annotated[list[Outcome], Field(max_length=MANY)]
