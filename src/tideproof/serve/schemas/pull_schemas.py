"""Schemas of pulls, rewards, exposures and outcomes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, StrictInt

from tideproof.serve.schemas.field_types import (
    MANY,
    WHOLE,
    By,
    Label,
    Number,
    RequestBody,
    Short,
    Unit,
    example,
)


class AskBody(RequestBody):
    """A request for the next pulls. The default environment is that of the last pull."""

    model_config = example({"environment": "monday"}, {"environment": "monday", "n": 10})
    environment: Label | None = None
    n: Annotated[StrictInt | None, Field(ge=1, le=MANY, description="Number of pulls.")] = None
    unit: Unit | None = None
    by: By = None


class EvaluationBody(RequestBody):
    """A request for the arm of a unit, which is the same each time."""

    model_config = example({"unit": "visitor-42", "environment": "monday"})
    unit: Unit
    environment: Label | None = None


class PullInfo(BaseModel):
    """A pull: the arm to play, and the id under which to report the reward."""

    id: str
    arm: str
    environment: Label


class Pulls(BaseModel):
    """Pulls, in the order in which they were assigned."""

    pulls: list[PullInfo]


class PullList(Pulls):
    """One page of pending pulls."""

    next: str | None = Field(description="Value of `after` for the next page; null on the last page.")


class Reward(RequestBody):
    """Reward of a pull."""

    pull: Short
    reward: Number
    key: Annotated[
        Short | None,
        Field(description="Identifies one reward of a unit: it is counted once, even if it is repeated."),
    ] = None


class TellBody(RequestBody):
    """Rewards of pulls: either all of them are recorded, or none."""

    model_config = example({"rewards": [{"pull": "9f86d08188-0", "reward": 12.5}]})
    rewards: Annotated[list[Reward], Field(max_length=MANY)]
    by: By = None


class CorrectBody(RequestBody):
    """A new reward for a pull whose reward was recorded before."""

    model_config = example({"pull": "9f86d08188-0", "reward": 12.5})
    pull: Short
    reward: Number
    by: By = None


class TellSummaryBody(RequestBody):
    """Results of `n` pulls of one arm in one environment, as a summary."""

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


class CancelBody(RequestBody):
    """Pulls to cancel, because their rewards will never arrive: all of them, or none."""

    model_config = example({"pulls": ["9f86d08188-1"]})
    pulls: Annotated[list[Short], Field(max_length=MANY)]
    by: By = None


class Exposure(RequestBody):
    """A unit saw its arm. Either the pull or the unit identifies it."""

    pull: Short | None = None
    unit: Unit | None = None


class ExposuresBody(RequestBody):
    """Exposures of units: either all of them are recorded, or none."""

    model_config = example({"exposures": [{"unit": "visitor-42"}]})
    exposures: Annotated[list[Exposure], Field(max_length=MANY)]


class Outcome(Exposure):
    """A reward of a unit or of a pull."""

    reward: Number
    key: Annotated[
        Short | None,
        Field(description="Identifies the reward, such as an order number: it is counted only once."),
    ] = None


class OutcomesBody(RequestBody):
    """Rewards of units: either all of them are recorded, or none."""

    model_config = example({"outcomes": [{"unit": "visitor-42", "reward": 20.0, "key": "order 7"}]})
    outcomes: Annotated[list[Outcome], Field(max_length=MANY)]
