"""What goes in and out, as OpenAPI has it. What values mean is checked by the experiment itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

MANY = 10_000  # pulls, rewards or events in one request or answer
ARMS = 200
WHOLE = 2**53  # the largest whole number that every JSON reader knows

NAME = r"^[^/\x00-\x1f\x7f]+$"
Name = Annotated[StrictStr, Field(min_length=1, max_length=200, pattern=NAME)]
Text = Annotated[StrictStr, Field(max_length=10_000)]
Short = Annotated[StrictStr, Field(min_length=1, max_length=200)]
Whole = Annotated[StrictInt, Field(ge=-WHOLE, le=WHOLE)]
Label = Annotated[Short | Whole, Field(description="An environment: when or where, such as a day.")]
Unit = Annotated[Short | Whole, Field(description="Who gets a pull, such as a visitor; only a hash is kept.")]
Number = Annotated[StrictFloat | Whole, Field(description="A finite number.")]
By = Annotated[Short | None, Field(description="Who does it, for the record, beside the name of the key.")]


class Body(BaseModel):
    """What a client sends: nothing that is not known here."""

    model_config = ConfigDict(extra="forbid")


def _example(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(examples)})


class NewExperiment(Body):
    """An experiment to begin; what is left out is as in `tp.Experiment`."""

    model_config = _example({"name": "prices", "arms": ["A", "B", "C"], "budget": 1000})
    name: Annotated[Name, Field(description="Of the experiment; no slash.")]
    arms: Annotated[list[Short], Field(min_length=2, max_length=ARMS)]
    budget: Annotated[StrictInt | None, Field(ge=1, le=10**12, description="Number of pulls.")] = None
    policy: Annotated[Short, Field(description="A registered name.")] = "contrast"
    policy_options: Annotated[dict[Short, Any], Field(max_length=20)] = {}
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

    model_config = _example({"change": "add-arm", "arm": "D"})
    change: Literal["add-arm"]
    arm: Short
    by: By = None


class RetireArm(Body):
    """An arm that is not played any more."""

    model_config = _example({"change": "retire-arm", "arm": "B"})
    change: Literal["retire-arm"]
    arm: Short
    by: By = None


class SetBudget(Body):
    """Another budget; null for none."""

    model_config = _example({"change": "budget", "budget": 2000})
    change: Literal["budget"]
    budget: Annotated[StrictInt | None, Field(ge=1, le=10**12)]
    by: By = None


class Pause(Body):
    """Ask for nothing until it is resumed, or ask again."""

    model_config = _example({"change": "pause", "why": "the shop is closed"})
    change: Literal["pause", "resume"]
    why: Text = ""
    by: By = None


class Note(Body):
    """Something to remember."""

    model_config = _example({"change": "note", "text": "a sale began"})
    change: Literal["note"]
    text: Text
    by: By = None


class ForgetUnits(Body):
    """Delete what units are hashed with."""

    model_config = _example({"change": "forget-units"})
    change: Literal["forget-units"]
    by: By = None


Change = Annotated[AddArm | RetireArm | SetBudget | Pause | Note | ForgetUnits, Field(discriminator="change")]


class Stop(Body):
    """Ask for nothing ever again."""

    model_config = _example({"why": "B it is"})
    why: Text = ""
    by: By = None


class Ask(Body):
    """Which arm next? Without an environment, where the last pull was."""

    model_config = _example({"environment": "monday"}, {"environment": "monday", "n": 10})
    environment: Label | None = None
    n: Annotated[StrictInt | None, Field(ge=1, le=MANY, description="Number of pulls.")] = None
    unit: Unit | None = None
    by: By = None


class Evaluation(Body):
    """Which arm does a unit get? The same each time."""

    model_config = _example({"unit": "visitor-42", "environment": "monday"})
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


class Tell(Body):
    """Rewards of pulls: all of them are taken in, or none."""

    model_config = _example({"rewards": [{"pull": "9f86d08188-0", "reward": 12.5}]})
    rewards: Annotated[list[Reward], Field(max_length=MANY)]
    by: By = None


class Correct(Body):
    """Another reward than was told."""

    model_config = _example({"pull": "9f86d08188-0", "reward": 12.5})
    pull: Short
    reward: Number
    by: By = None


class TellSummary(Body):
    """The results of `n` pulls of one arm in one environment."""

    model_config = _example(
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

    model_config = _example({"pulls": ["9f86d08188-1"]})
    pulls: Annotated[list[Short], Field(max_length=MANY)]
    by: By = None


class Exposure(Body):
    """A unit saw what it was given: the pull, or the unit."""

    pull: Short | None = None
    unit: Unit | None = None


class Exposures(Body):
    """Who saw what they were given: all are noted, or none."""

    model_config = _example({"exposures": [{"unit": "visitor-42"}]})
    exposures: Annotated[list[Exposure], Field(max_length=MANY)]


class Outcome(Exposure):
    """What a unit, or a pull, brought."""

    reward: Number
    key: Annotated[Short | None, Field(description="Such as the number of an order: it counts once.")] = None


class Outcomes(Body):
    """What units brought: all is taken in, or nothing."""

    model_config = _example({"outcomes": [{"unit": "visitor-42", "reward": 20.0, "key": "order 7"}]})
    outcomes: Annotated[list[Outcome], Field(max_length=MANY)]


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


class NewKey(Body):
    """A key to make."""

    model_config = _example({"name": "shop front", "role": "evaluator", "experiments": ["prices"]})
    name: Short
    role: Literal["viewer", "evaluator", "reporter", "editor", "admin"]
    experiments: Annotated[list[Name] | None, Field(max_length=1000, description="null for all.")] = None


class KeyInfo(BaseModel):
    """A key, without its secret."""

    id: str
    name: str
    role: str
    experiments: list[str] | None
    made_at: float
    made_by: str | None
    revoked_at: float | None
    revoked_by: str | None


class MadeKey(KeyInfo):
    """A new key; its secret is shown this once."""

    secret: str


class KeyList(BaseModel):
    """All keys."""

    keys: list[KeyInfo]


class Login(Body):
    """A key to log in with."""

    model_config = _example({"key": "tp_..."})
    key: Annotated[StrictStr, Field(min_length=1, max_length=500)]


class Who(BaseModel):
    """Who calls."""

    id: str
    name: str
    role: str
    experiments: list[str] | None


class Health(BaseModel):
    """How the service is."""

    status: str
    version: str
