"""Schemas of requests and responses about experiments, their changes, recommendations and events.

They check types and sizes only; the experiment itself checks the values.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from tideproof.experiment.reward_kinds import Rewards
from tideproof.experiment.settings import Rule, Tide
from tideproof.serve.schemas.field_types import ARMS, By, Name, Number, RequestBody, Short, Text, example
from tideproof.stats.scales.scale_properties import Scale


class ExperimentBody(RequestBody):
    """An experiment to create. Omitted fields have the defaults of `tp.Experiment`."""

    model_config = example({"name": "prices", "arms": ["A", "B", "C"], "budget": 1000})
    name: Annotated[Name, Field(description="Name of the experiment, without slashes.")]
    arms: Annotated[list[Short], Field(min_length=2, max_length=ARMS)]
    budget: Annotated[
        StrictInt | None, Field(ge=1, le=10**12, description="Number of pulls after which it ends.")
    ] = None
    policy: Annotated[Short, Field(description="Name of a registered policy.")] = "contrast"
    policy_options: Annotated[dict[Short, Any], Field(max_length=20)] = Field({})
    confidence: Annotated[
        Number | None,
        Field(description="Stop when an arm is the best with this confidence, for example 0.95."),
    ] = None
    rule: Rule | None = None
    seed: Annotated[StrictInt, Field(ge=0, le=2**64 - 1)] = 0
    direction: Literal["maximize", "minimize"] = "maximize"
    tide: Tide = "auto"
    rewards: Rewards = "normal"
    scale: Literal["auto", Scale] = "auto"
    limits: tuple[Number, Number] | None = None
    floors: Annotated[dict[Short, Number] | None, Field(max_length=ARMS)] = None
    caps: Annotated[dict[Short, Number] | None, Field(max_length=ARMS)] = None
    lease: Annotated[Number | None, Field(description="Seconds until a pending pull expires.")] = None
    default: Annotated[Number | None, Field(description="Reward of a pull that expires.")] = None
    reserve: Annotated[
        Number | None,
        Field(description="Seconds within which the exposure of a unit's pull must be reported."),
    ] = None
    time_zone: Annotated[
        Short | None,
        Field(description="Time zone whose current date is the default environment, such as Europe/Berlin."),
    ] = None


class ExperimentInfo(BaseModel):
    """Settings and progress of an experiment."""

    name: str
    state: Literal["running", "paused", "stopped", "done"]
    arms: list[str]
    retired: list[str]
    budget: int | None
    remaining: int | None = Field(description="Number of pulls left in the budget; null without a budget.")
    asked: int = Field(description="Number of pulls, without those that returned to the budget.")
    out: int = Field(description="Number of pending pulls, whose reward has not been reported yet.")
    told: int = Field(description="Number of rewards, including those in summaries.")
    events: int = Field(description="Number of events in the event log.")
    policy: str
    seed: int
    direction: str
    tide: str
    rewards: str
    scale: str
    confidence: float | None
    rule: str | None
    lease: float | None
    default: float | None
    reserve: float | None
    time_zone: str | None
    created_at: float
    created_by: str | None


class ListedExperiment(BaseModel):
    """One experiment in the list of experiments."""

    name: str
    arms: list[str]
    policy: str
    budget: int | None
    pulls: int
    events: int
    last_at: float


class ExperimentList(BaseModel):
    """One page of the experiments, sorted by name."""

    experiments: list[ListedExperiment]
    next: str | None = Field(description="Value of `after` for the next page; null on the last page.")


class AddArmBody(RequestBody):
    """Add an arm."""

    model_config = example({"change": "add-arm", "arm": "D"})
    change: Literal["add-arm"]
    arm: Short
    by: By = None


class RetireArmBody(RequestBody):
    """Retire an arm: it gets no further pulls."""

    model_config = example({"change": "retire-arm", "arm": "B"})
    change: Literal["retire-arm"]
    arm: Short
    by: By = None


class BudgetBody(RequestBody):
    """Set a new budget; null removes the limit."""

    model_config = example({"change": "budget", "budget": 2000})
    change: Literal["budget"]
    budget: Annotated[StrictInt | None, Field(ge=1, le=10**12)]
    by: By = None


class PauseBody(RequestBody):
    """Pause the experiment, which then issues no pulls, or resume it."""

    model_config = example({"change": "pause", "why": "the shop is closed"})
    change: Literal["pause", "resume"]
    why: Text = ""
    by: By = None


class NoteBody(RequestBody):
    """Add a note to the event log."""

    model_config = example({"change": "note", "text": "a sale began"})
    change: Literal["note"]
    text: Text
    by: By = None


class ForgetUnitsBody(RequestBody):
    """Delete the salt with which unit identifiers are hashed, so that units can no longer be recognized."""

    model_config = example({"change": "forget-units"})
    change: Literal["forget-units"]
    by: By = None


ChangeBody = Annotated[
    AddArmBody | RetireArmBody | BudgetBody | PauseBody | NoteBody | ForgetUnitsBody,
    Field(discriminator="change"),
]


class StopBody(RequestBody):
    """Stop the experiment for good: it issues no further pulls."""

    model_config = example({"why": "B is good enough"})
    why: Text = ""
    by: By = None


class RecommendationInfo(BaseModel):
    """Arm that would be selected now, with its estimated advantage; see `tp.Recommendation`."""

    arm: str | None
    runner_up: str | None = Field(description="The best of the other arms.")
    margin: float | None = Field(description="Estimated advantage of `arm` over the runner-up.")
    low: float | None = Field(description="Lower bound of the 95 % confidence interval of the margin.")
    high: float | None = Field(description="Upper bound of the 95 % confidence interval of the margin.")
    p_best: float | None = Field(description="Probability that `arm` is the best.")
    prior: str
    told: int = Field(description="Number of rewards used.")
    groups: list[list[str]] = Field(
        description="Groups of arms that can be compared with each other; with several, no arm is selected."
    )
    adaptive: bool = Field(description="Whether the policy reacts to rewards.")
    remarks: list[str] = Field(description="Warnings about likely mistakes in how the experiment is used.")
    direction: str
    scale: str
    confidence: float | None
    rule: str | None
    sure: bool = Field(description="Whether the stopping rule finds that `arm` is the best.")
    promise: str = Field(description="Description of the stopping rule.")
    anytime: bool = Field(description="Whether the interval stays valid however often it is inspected.")
    tide: str = Field(description="Model of the shifts: labels, hidden or both.")
    left_out: list[str] = Field(description="Outlying cells that the margin and the interval exclude.")
    sentence: str = Field(description="The recommendation in words.")


class Shares(BaseModel):
    """The share of each arm among the next pulls."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"shares": {"A": 0.25, "B": 0.75}}]})
    shares: dict[str, float]


class EventInfo(BaseModel):
    """One event of an event log: its number, time, author, kind, and other fields."""

    seq: int
    at: float
    by: str | None
    kind: str
    about: dict[str, Any]


class EventList(BaseModel):
    """Events of an experiment, in order."""

    events: list[EventInfo]
    next: int = Field(description="Value of `after` for the next request.")


class Health(BaseModel):
    """Status of the service."""

    status: str
    version: str
