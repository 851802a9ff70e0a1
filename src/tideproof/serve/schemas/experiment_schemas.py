"""Experiments and what is read of them, as OpenAPI has it.

What values mean is checked by the experiment itself.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from tideproof.serve.schemas.field_types import ARMS, Body, By, Name, Number, Short, Text, example


class NewExperiment(Body):
    """An experiment to begin; what is left out is as in `tp.Experiment`."""

    model_config = example({"name": "prices", "arms": ["A", "B", "C"], "budget": 1000})
    name: Annotated[Name, Field(description="Of the experiment; no slash.")]
    arms: Annotated[list[Short], Field(min_length=2, max_length=ARMS)]
    budget: Annotated[StrictInt | None, Field(ge=1, le=10**12, description="Number of pulls.")] = None
    policy: Annotated[Short, Field(description="A registered name.")] = "contrast"
    policy_options: Annotated[dict[Short, Any], Field(max_length=20)] = Field({})
    confidence: Annotated[Number | None, Field(description="Stop when an arm is surely the best.")] = None
    rule: Literal["calibrated", "proven"] | None = None
    seed: Annotated[StrictInt, Field(ge=0, le=2**64 - 1)] = 0
    direction: Literal["maximize", "minimize"] = "maximize"
    tide: Literal["auto", "labels", "hidden", "both"] = "auto"
    rewards: Literal["normal", "conversions", "counts", "money"] = "normal"
    scale: Literal["auto", "difference", "ratio", "odds"] = "auto"
    limits: tuple[Number, Number] | None = None
    floors: Annotated[dict[Short, Number] | None, Field(max_length=ARMS)] = None
    caps: Annotated[dict[Short, Number] | None, Field(max_length=ARMS)] = None
    lease: Annotated[Number | None, Field(description="Seconds until a pull expires.")] = None
    default: Annotated[Number | None, Field(description="Reward of a pull that expired.")] = None
    reserve: Annotated[
        Number | None, Field(description="Seconds in which a unit's pull must be exposed.")
    ] = None
    time_zone: Annotated[
        Short | None, Field(description="Whose date is the environment of who names none: Europe/Berlin.")
    ] = None


class ExperimentInfo(BaseModel):
    """An experiment, as it is now."""

    name: str
    state: Literal["running", "paused", "stopped", "done"]
    arms: list[str]
    retired: list[str]
    budget: int | None
    remaining: int | None
    asked: int
    out: int
    told: int
    events: int
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
    """An experiment in a list."""

    name: str
    arms: list[str]
    policy: str
    budget: int | None
    pulls: int
    events: int
    last_at: float


class ExperimentList(BaseModel):
    """Experiments, by name."""

    experiments: list[ListedExperiment]
    next: str | None = Field(description="`after` of the next page; null on the last one.")


class AddArm(Body):
    """One more arm."""

    model_config = example({"change": "add-arm", "arm": "D"})
    change: Literal["add-arm"]
    arm: Short
    by: By = None


class RetireArm(Body):
    """An arm that is not played any more."""

    model_config = example({"change": "retire-arm", "arm": "B"})
    change: Literal["retire-arm"]
    arm: Short
    by: By = None


class SetBudget(Body):
    """Another budget; null for none."""

    model_config = example({"change": "budget", "budget": 2000})
    change: Literal["budget"]
    budget: Annotated[StrictInt | None, Field(ge=1, le=10**12)]
    by: By = None


class Pause(Body):
    """Ask for nothing until it is resumed, or ask again."""

    model_config = example({"change": "pause", "why": "the shop is closed"})
    change: Literal["pause", "resume"]
    why: Text = ""
    by: By = None


class Note(Body):
    """Something to remember."""

    model_config = example({"change": "note", "text": "a sale began"})
    change: Literal["note"]
    text: Text
    by: By = None


class ForgetUnits(Body):
    """Delete what units are hashed with."""

    model_config = example({"change": "forget-units"})
    change: Literal["forget-units"]
    by: By = None


Change = Annotated[AddArm | RetireArm | SetBudget | Pause | Note | ForgetUnits, Field(discriminator="change")]


class Stop(Body):
    """Ask for nothing ever again."""

    model_config = example({"why": "B it is"})
    why: Text = ""
    by: By = None


class RecommendationInfo(BaseModel):
    """What would be selected now; as `tp.Recommendation`."""

    arm: str | None
    runner_up: str | None
    margin: float | None
    low: float | None
    high: float | None
    p_best: float | None
    prior: str
    told: int
    groups: list[list[str]]
    adaptive: bool
    remarks: list[str]
    direction: str
    scale: str
    confidence: float | None
    rule: str | None
    sure: bool
    promise: str
    anytime: bool
    tide: str
    left_out: list[str]
    sentence: str = Field(description="All of it in words.")


class Shares(BaseModel):
    """The share of each arm in the next pulls."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"shares": {"A": 0.25, "B": 0.75}}]})
    shares: dict[str, float]


class EventInfo(BaseModel):
    """Something that happened: its number, when, by whom, its kind, and what else belongs to it."""

    seq: int
    at: float
    by: str | None
    kind: str
    about: dict[str, Any]


class EventList(BaseModel):
    """Events behind a number."""

    events: list[EventInfo]
    next: int = Field(description="`after` of what comes next.")


class Health(BaseModel):
    """How the service is."""

    status: str
    version: str
