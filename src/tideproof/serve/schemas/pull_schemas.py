"""Schemas of requests and responses about pulls, rewards, and reports that a unit saw its arm."""

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

PullId = Annotated[Short, Field(description="ID of the pull.")]


class AskBody(RequestBody):
    """Request for the next pulls.

    The default environment is the current date if the experiment has a `time_zone`, else that of the last
    pull.
    """

    model_config = example({"environment": "monday"}, {"environment": "monday", "n": 10})
    environment: Label | None = None
    n: Annotated[StrictInt | None, Field(ge=1, le=MANY, description="Number of pulls; null means one.")] = (
        None
    )
    unit: Unit | None = None
    by: By = None


class EvaluationBody(RequestBody):
    """Request for the arm of a unit, such as a visitor; a unit always gets the same arm."""

    model_config = example({"unit": "visitor-42", "environment": "monday"})
    unit: Unit
    environment: Label | None = None


class PullInfo(BaseModel):
    """Pull: the assigned arm, and the ID with which the reward is reported."""

    id: str = Field(description="ID of the pull, with which its reward is reported.")
    arm: str = Field(description="The assigned arm.")
    environment: Label


class Pulls(BaseModel):
    """Pulls (assignments of arms), in the order in which they were assigned."""

    pulls: list[PullInfo]


class AssignedPulls(Pulls):
    """New pulls, in the order in which they were assigned."""

    chosen: bool = Field(description="Whether the policy chose their environments.")


class PullList(Pulls):
    """One page of pending pulls."""

    next: str | None = Field(description="Value of `after` for the next page; null on the last page.")


class Reward(RequestBody):
    """Reward of a pull."""

    pull: PullId
    reward: Number
    key: Annotated[
        Short | None,
        Field(
            description="Idempotency key of one reward, for units that have several rewards. Repeating a "
            "request with the same key and reward has no effect."
        ),
    ] = None


class TellBody(RequestBody):
    """Rewards of pulls: either all of them are recorded, or none."""

    model_config = example({"rewards": [{"pull": "9f86d08188-0", "reward": 12.5}]})
    rewards: Annotated[list[Reward], Field(max_length=MANY)]
    by: By = None


class CorrectBody(RequestBody):
    """A new reward for a pull whose reward was recorded before."""

    model_config = example({"pull": "9f86d08188-0", "reward": 12.5})
    pull: PullId
    reward: Number
    by: By = None


class TellSummaryBody(RequestBody):
    """Summary of the rewards of one arm in one environment, such as their number and mean."""

    model_config = example(
        {"arm": "B", "environment": "tuesday", "n": 40, "mean": 1.2, "variance": 0.9, "key": "tue-B"}
    )
    arm: Annotated[Short, Field(description="Arm of the rewards.")]
    environment: Label
    n: Annotated[StrictInt, Field(ge=1, le=10**12, description="Number of rewards.")]
    mean: Annotated[Number | None, Field(description="Mean of the rewards.")] = None
    variance: Annotated[Number | None, Field(description="Sample variance of the rewards.")] = None
    successes: Annotated[
        StrictInt | None, Field(ge=0, le=10**12, description="Number of rewards that are 1, for conversions.")
    ] = None
    total: Annotated[
        StrictInt | None, Field(ge=0, le=WHOLE, description="Sum of the rewards, for counts.")
    ] = None
    key: Annotated[
        Short | None,
        Field(
            description="Idempotency key of the summary. Repeating a request with the same key and values "
            "has no effect."
        ),
    ] = None
    by: By = None


class CancelBody(RequestBody):
    """Request to cancel pulls whose rewards will never arrive: either all are cancelled, or none."""

    model_config = example({"pulls": ["9f86d08188-1"]})
    pulls: Annotated[list[Short], Field(max_length=MANY)]
    by: By = None


class Exposure(RequestBody):
    """Report that a unit, such as a visitor, saw its arm; the report names either the pull or the unit."""

    pull: PullId | None = None
    unit: Unit | None = None


class ExposuresBody(RequestBody):
    """Reports that units, such as visitors, saw their arms: either all reports are recorded, or none."""

    model_config = example({"exposures": [{"unit": "visitor-42"}]})
    exposures: Annotated[list[Exposure], Field(max_length=MANY)]


class Outcome(Exposure):
    """Report of the reward of a unit or of a pull; it names either the pull or the unit."""

    reward: Number
    key: Annotated[
        Short | None,
        Field(
            description="Idempotency key of one reward, such as an order number. Repeating a request with "
            "the same key and reward has no effect."
        ),
    ] = None


class OutcomesBody(RequestBody):
    """Rewards of units, such as visitors, or of pulls: either all of them are recorded, or none."""

    model_config = example({"outcomes": [{"unit": "visitor-42", "reward": 20.0, "key": "order 7"}]})
    outcomes: Annotated[list[Outcome], Field(max_length=MANY)]
