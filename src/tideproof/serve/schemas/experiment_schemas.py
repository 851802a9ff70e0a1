"""Schemas of requests and responses about experiments, their changes, recommendations and events.

They check types and sizes only; the experiment itself checks the values.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from tideproof.experiment.reward_kinds import Rewards
from tideproof.experiment.settings import Rule, Tide
from tideproof.serve.schemas.field_types import (
    ARMS,
    ENVIRONMENTS,
    By,
    Label,
    Name,
    Number,
    RequestBody,
    Short,
    Text,
    Unit,
    example,
)
from tideproof.stats.looks.look_plan import MOST_LOOKS
from tideproof.stats.looks.spending_functions import SpendingName
from tideproof.stats.scales.scale_properties import Scale


class ExperimentBody(RequestBody):
    """An experiment to create. Omitted fields have the defaults of `tp.Experiment`."""

    model_config = example({"name": "prices", "arms": ["A", "B", "C"], "budget": 1000})
    name: Annotated[Name, Field(description="Name of the experiment, without slashes.")]
    arms: Annotated[
        list[Short],
        Field(min_length=2, max_length=ARMS, description="Names of the alternatives to compare."),
    ]
    budget: Annotated[
        StrictInt | None,
        Field(
            ge=1,
            le=10**12,
            description="Number of pulls after which the experiment ends; null means no limit.",
        ),
    ] = None
    policy: Annotated[
        Short,
        Field(
            description="Name of the policy that chooses the arms; `tideproof policies` and the "
            "documentation of policies list the names."
        ),
    ] = "contrast"
    policy_options: Annotated[dict[Short, Any], Field(max_length=20)] = Field(
        {}, description="Options of the policy, by name, as `tp.policy` takes them."
    )
    confidence: Annotated[
        Number | None,
        Field(
            description="Stop as soon as one arm is confirmed as the best at this confidence level. Must be "
            "above 0.5 and below 1. null uses the whole budget."
        ),
    ] = None
    rule: Annotated[
        Rule | None,
        Field(
            description="Stopping rule for `confidence`. `calibrated`: its error rate was calibrated by "
            "simulation. `proven`: a theorem bounds its error rate for normal rewards, but it needs about "
            "twice as many pulls. null means `calibrated`, with `environments` `proven`."
        ),
    ] = None
    seed: Annotated[
        StrictInt,
        Field(
            ge=0,
            le=2**64 - 1,
            description="Seed of the random choices; the same seed and rewards give the same pulls.",
        ),
    ] = 0
    direction: Annotated[
        Literal["maximize", "minimize"],
        Field(description="Whether higher (`maximize`) or lower (`minimize`) rewards are better."),
    ] = "maximize"
    tide: Annotated[
        Tide,
        Field(
            description="Model of the shifts that all arms share. `labels`: one shift for each environment. "
            "`hidden`: the shifts are estimated from the rewards, without environments. `both`: the shift "
            "can also change within an environment. `auto`: `labels` if the first ask names an environment, "
            "else `hidden`."
        ),
    ] = "auto"
    rewards: Annotated[
        Rewards,
        Field(
            description="Kind of reward. `normal`: any number. `conversions`: 0 or 1. `counts`: whole "
            "numbers of at least 0. `money`: amounts of at least 0. Other rewards are refused."
        ),
    ] = "normal"
    scale: Annotated[
        Literal["auto", Scale],
        Field(
            description="How arms are compared: by `difference`, `ratio` or, for conversions, `odds`. "
            "`auto`: `difference` for normal rewards; `ratio` for other kinds if the policy allows it."
        ),
    ] = "auto"
    limits: Annotated[
        tuple[Number, Number] | None,
        Field(description="The lowest and the highest possible reward; rewards outside are refused."),
    ] = None
    minimum_shares: Annotated[
        dict[Short, Number] | None,
        Field(max_length=ARMS, description="Minimum share of the pulls, from 0 to 1, by arm."),
    ] = None
    maximum_shares: Annotated[
        dict[Short, Number] | None,
        Field(max_length=ARMS, description="Maximum share of the pulls, from 0 to 1, by arm."),
    ] = None
    lease: Annotated[
        Number | None,
        Field(
            description="Seconds after the assignment until a pending pull expires. An expired pull gets the "
            "reward `default`; without `default`, it returns to the budget. null means no limit."
        ),
    ] = None
    default: Annotated[
        Number | None,
        Field(
            description="Reward recorded when a pull expires. Requires `lease`. null means 0 for "
            "conversions, and no reward otherwise."
        ),
    ] = None
    reserve: Annotated[
        Number | None,
        Field(
            description="Seconds after the assignment within which the client must report that the unit saw "
            "the arm; otherwise the pull is cancelled. Requires `lease` and must not exceed it. null means "
            "that no report is needed."
        ),
    ] = None
    visitors: Annotated[
        StrictBool,
        Field(
            description="The experiment is for visitors and can be a feature flag. Sets, unless they are "
            "given, `lease` to a day, `reserve` to ten minutes and, for conversions, counts and money, "
            "`default` to 0."
        ),
    ] = False
    time_zone: Annotated[
        Short | None,
        Field(description="Time zone whose current date is the default environment, such as Europe/Berlin."),
    ] = None
    control: Annotated[
        Short | None,
        Field(
            description="Arm that visitors of a feature flag get if they are not in the experiment, for "
            "example because the budget is used up. null means the default in the calling code."
        ),
    ] = None
    environments: Annotated[
        list[Label] | None,
        Field(
            max_length=ENVIRONMENTS,
            description="A fixed set of environments, such as test items, from which the policy chooses: a "
            "pull has an arm and an environment, and each pair is assigned at most once. null means that "
            "each ask names its environment.",
        ),
    ] = None
    tolerance: Annotated[
        Number | None,
        Field(
            description="With `environments` and `confidence`, a difference of means that does not matter. "
            "null means 0."
        ),
    ] = None
    looks: Annotated[
        Annotated[StrictInt, Field(ge=1, le=MOST_LOOKS)] | tuple[StrictInt, SpendingName] | None,
        Field(
            description="Planned number of looks, alone or with the name of the spending function: 14 means "
            "[14, `pocock`]. Only a look can then name the best arm. Requires a `policy` that does not react "
            "to rewards, such as `round-robin`. null means that there is no plan."
        ),
    ] = None


class StopDecision(BaseModel):
    """Stop of an experiment: who decided it, when, why, and which arm was chosen for every visitor."""

    at: float = Field(description="Time, in seconds since 1970 (Unix time).")
    by: str | None = Field(description="API key and person who decided; null if not known.")
    why: str = Field(description="Reason.")
    ship: str | None = Field(description="Arm that the person chose; null if nobody chose one.")


class ExperimentInfo(BaseModel):
    """Settings and progress of an experiment."""

    name: str = Field(description="Name of the experiment.")
    state: Literal["running", "paused", "stopped", "done"] = Field(
        description="`paused` and `stopped`: no pulls are assigned. `done`: no further pull is needed or "
        "possible."
    )
    arms: list[str] = Field(description="Names of all arms, including retired ones.")
    retired: list[str] = Field(description="Names of the retired arms, which get no further pulls.")
    budget: int | None = Field(description="Number of pulls after which it ends; null means no limit.")
    remaining: int | None = Field(description="Number of pulls left in the budget; null without a budget.")
    asked: int = Field(
        description="Number of pulls, without those that were cancelled or expired and returned to the "
        "budget."
    )
    pending: int = Field(description="Number of pending pulls, whose reward has not been recorded yet.")
    recorded: int = Field(description="Number of recorded rewards, including those in summaries.")
    events: int = Field(description="Number of events in the event log.")
    policy: str = Field(description="Name of the policy that chooses the arms, with its options.")
    seed: int = Field(description="Seed of the random choices.")
    direction: str = Field(description="`maximize` if higher rewards are better, else `minimize`.")
    tide: str = Field(description="Model of the shifts: `labels`, `hidden`, `both` or `auto`.")
    rewards: str = Field(description="Kind of reward: `normal`, `conversions`, `counts` or `money`.")
    scale: str = Field(description="How arms are compared: by `difference`, `ratio` or `odds`.")
    confidence: float | None = Field(
        description="Confidence level at which it stops early; null without a stopping rule."
    )
    rule: str | None = Field(
        description="Stopping rule, `calibrated` or `proven`; null without a stopping rule."
    )
    looks: tuple[int, str] | None = Field(
        description="Planned number of looks, and the name of the spending function; null without a plan."
    )
    lease: float | None = Field(description="Seconds until a pending pull expires; null means no limit.")
    default: float | None = Field(description="Reward recorded when a pull expires; null means none.")
    reserve: float | None = Field(
        description="Seconds within which the client must report that a unit saw its arm; null means that "
        "no report is needed."
    )
    time_zone: str | None = Field(
        description="Time zone whose current date is the default environment; null means that there is none."
    )
    control: str | None = Field(
        description="Arm that visitors get if they are not in the experiment; null means the default in the "
        "calling code."
    )
    shipped: str | None = Field(
        description="Arm that every visitor gets because a person chose it or, without a choice, because the "
        "stopping rule found it to be the best; null if nothing is shipped."
    )
    stop: StopDecision | None = Field(description="Decision that stopped the experiment; null before.")
    archived_at: float | None = Field(
        description="Time at which it was archived, in seconds since 1970 (Unix time); null while it is not."
    )
    created_at: float = Field(description="Time of creation, in seconds since 1970 (Unix time).")
    created_by: str | None = Field(description="API key or user that created it; null if it is not known.")


class ListedExperiment(BaseModel):
    """One experiment in the list of experiments."""

    name: str = Field(description="Name of the experiment.")
    arms: list[str] = Field(description="Names of all arms.")
    policy: str = Field(description="Name of the policy that chooses the arms.")
    budget: int | None = Field(description="Number of pulls after which it ends; null means no limit.")
    pulls: int = Field(description="Number of pulls, including those that were cancelled or expired.")
    events: int = Field(description="Number of events in the event log.")
    last_at: float = Field(description="Time of the last event, in seconds since 1970 (Unix time).")
    archived_at: float | None = Field(default=None, description="Time at which it was archived; null if not.")


class ExperimentList(BaseModel):
    """One page of the experiments, sorted by name."""

    experiments: list[ListedExperiment]
    next: str | None = Field(description="Value of `after` for the next page; null on the last page.")


class AddArmBody(RequestBody):
    """Add an arm to the experiment."""

    model_config = example({"change": "add-arm", "arm": "D"})
    change: Literal["add-arm"]
    arm: Annotated[Short, Field(description="Name of the new arm.")]
    by: By = None


class RetireArmBody(RequestBody):
    """Retire an arm of the experiment: it gets no further pulls."""

    model_config = example({"change": "retire-arm", "arm": "B"})
    change: Literal["retire-arm"]
    arm: Annotated[Short, Field(description="Name of the arm to retire.")]
    by: By = None


class BudgetBody(RequestBody):
    """Set a new budget of pulls for the experiment; null removes the limit."""

    model_config = example({"change": "budget", "budget": 2000})
    change: Literal["budget"]
    budget: Annotated[
        StrictInt | None,
        Field(ge=1, le=10**12, description="New number of pulls in all; null means no limit."),
    ]
    by: By = None


class PauseBody(RequestBody):
    """Pause the experiment, which then assigns no pulls, or resume it."""

    model_config = example({"change": "pause", "why": "the shop is closed"})
    change: Literal["pause", "resume"]
    why: Annotated[Text, Field(description="Reason, recorded in the event log.")] = ""
    by: By = None


class ArchiveBody(RequestBody):
    """Archive a stopped experiment, so that lists omit it and its flag has no value, or restore it."""

    model_config = example({"change": "archive", "why": "the season is over"})
    change: Literal["archive", "restore"]
    why: Annotated[Text, Field(description="Reason, recorded in the event log.")] = ""
    by: By = None


class NoteBody(RequestBody):
    """Add a note to the event log of the experiment."""

    model_config = example({"change": "note", "text": "a sale began"})
    change: Literal["note"]
    text: Annotated[Text, Field(description="The note.")]
    by: By = None


class ForgetUnitsBody(RequestBody):
    """Delete the salt with which unit identifiers are hashed, so that units can no longer be recognized."""

    model_config = example({"change": "forget-units"})
    change: Literal["forget-units"]
    by: By = None


class ForgetUnitBody(RequestBody):
    """Delete the hash of the identifier of one unit, so that nobody can link the unit to its pulls."""

    model_config = example({"change": "forget-unit", "unit": "visitor-42"})
    change: Literal["forget-unit"]
    unit: Unit
    by: By = None


# Names of the changes, in the field `change`
CHANGES = (
    "add-arm", "retire-arm", "budget", "pause", "resume", "archive", "restore", "note", "forget-units",
    "forget-unit",
)  # fmt: skip
ChangeBody = Annotated[
    AddArmBody
    | RetireArmBody
    | BudgetBody
    | PauseBody
    | ArchiveBody
    | NoteBody
    | ForgetUnitsBody
    | ForgetUnitBody,
    Field(discriminator="change"),
]


class StopBody(RequestBody):
    """Stop the experiment permanently: it assigns no further pulls."""

    model_config = example({"ship": "B", "why": "B is good enough", "by": "ann"})
    why: Annotated[Text, Field(description="Reason, recorded in the event log.")] = ""
    ship: Annotated[
        Short | None,
        Field(
            description="Arm that every visitor gets from now on. null ships nothing, unless the stopping "
            "rule has found the best arm: flags then have no value, so that the default in the calling code "
            "is used. Repeating the request with another arm changes the decision."
        ),
    ] = None
    by: By = None


class LookBody(RequestBody):
    """Make a planned look, which spends error probability and can name the best arm."""

    model_config = example({"by": "ann"})
    look: Annotated[
        Number | None,
        Field(
            description="How far the plan is, such as 4.6 for a look before the fifth one is due. null means "
            "the next whole number."
        ),
    ] = None
    by: By = None


class LooksInfo(BaseModel):
    """Planned looks of an experiment: which were made, and when the next one is due."""

    planned: int = Field(description="Planned number of looks.")
    spending: str = Field(description="Spending function, `pocock` or `obrien-fleming`.")
    made: list[float] = Field(description="The looks that were made, in their order.")
    spent: float = Field(description="Error probability that they have spent.")
    is_current: bool = Field(description="Whether no reward has been recorded since the last look.")
    next: float | None = Field(description="The next look; null after the last one.")
    due: int | None = Field(
        description="Number of rewards at which the next look is due; null without a budget."
    )


class RecommendationInfo(BaseModel):
    """Arm that would be selected now, with its estimated lead; see `tp.Recommendation`."""

    arm: str | None = Field(description="The selected arm; null if no arm can be selected.")
    runner_up: str | None = Field(description="The best of the other arms.")
    margin: float | None = Field(description="Estimated lead of `arm` over the runner-up.")
    low: float | None = Field(description="Lower bound of the 95 % confidence interval of the lead.")
    high: float | None = Field(description="Upper bound of the 95 % confidence interval of the lead.")
    p_best: float | None = Field(
        description="Probability that `arm` is the best; null unless an arm is clearly the best."
    )
    prior: str = Field(description="Prior of the probability `p_best`: `exchangeable` or `flat`.")
    recorded: int = Field(description="Number of recorded rewards that it uses.")
    groups: list[list[str]] = Field(
        description="Groups of arms; only arms of the same group can be compared. With several groups, no "
        "arm is selected."
    )
    adaptive: bool = Field(description="Whether the policy reacts to rewards.")
    remarks: list[str] = Field(description="Warnings about likely mistakes in how the experiment is used.")
    direction: str = Field(
        description="`maximize` if higher rewards are better, else `minimize`; a lead is positive in both "
        "cases."
    )
    scale: str = Field(description="How arms are compared. With `ratio` or `odds`, a lead of 0.1 means 10 %.")
    confidence: float | None = Field(
        description="Confidence level of the stopping rule; null without a stopping rule."
    )
    rule: str | None = Field(
        description="Stopping rule, `calibrated`, `proven` or `looks`; null without a stopping rule."
    )
    sure: bool = Field(description="Whether the stopping rule has confirmed `arm` as the best.")
    promise: str = Field(
        description="How the error rate of the stopping rule is guaranteed, in words; empty without a "
        "stopping rule."
    )
    about: str = Field(
        description="Whether the promise and the lead are about `these` environments, or about `similar` "
        "ones, future ones included."
    )
    anytime: bool = Field(
        description="Whether the interval is valid however often the results are inspected."
    )
    tide: str = Field(description="Model of the shifts: `labels`, `hidden` or `both`.")
    left_out: list[str] = Field(
        description="Outlying cells (an arm in an environment each) that the lead and the interval exclude."
    )
    looks: LooksInfo | None = Field(
        default=None,
        description="Planned looks; null without a plan. `low` and `high` are then null between looks, and "
        "valid at all planned looks together, at the level `confidence`, at a look.",
    )
    sentence: str = Field(description="The recommendation in words.")


# Kinds of events in the log of an experiment, and what happened
EVENT_KINDS = {
    "Created": "the experiment was created",
    "Opened": "another process opened the experiment",
    "Unlabelled": "the first request for a pull had no environment, so shifts are estimated from the rewards",
    "Asked": "pulls were assigned",
    "AskedPairs": "pulls were assigned, of which the policy chose the environments",
    "Told": "rewards of pulls were recorded",
    "Added": "rewards were added to the total rewards of units",
    "Shared": "the shares of the next pulls were computed",
    "Summarised": "a summary of the rewards of one arm in one environment was recorded",
    "Cancelled": "pulls were cancelled",
    "Expired": "pulls expired, or their waiting time for rewards ended",
    "Corrected": "a recorded reward was replaced",
    "ArmAdded": "an arm was added",
    "ArmRetired": "an arm was retired",
    "Extended": "the budget was changed",
    "Paused": "the experiment was paused",
    "Resumed": "the experiment was resumed",
    "Stopped": "the experiment was stopped permanently",
    "Sure": "the stopping rule confirmed the best arm",
    "Noted": "a note was added",
    "Warmed": "rewards from before the experiment were added",
    "Salted": "the salt with which identifiers of units are hashed was set or deleted",
    "UnitForgotten": "the hash of the identifier of a unit was deleted",
    "Exposed": "units saw their arms",
    "Archived": "the experiment was archived",
    "Restored": "the experiment was restored from the archive",
    "Looked": "a planned look was made",
}


class Shares(BaseModel):
    """The share of each arm among the next pulls."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"shares": {"A": 0.25, "B": 0.75}}]})
    shares: dict[str, float] = Field(description="Share of the pulls, from 0 to 1, by arm.")


class EventInfo(BaseModel):
    """One event of an event log: its number, time, author, kind, and other fields."""

    seq: int = Field(description="Number of the event; the first is 1.")
    at: float = Field(description="Time of the event, in seconds since 1970 (Unix time).")
    by: str | None = Field(description="API key and user that caused the event; null if not known.")
    kind: str = Field(
        description="Kind of event. "
        + " ".join(f"`{kind}`: {meaning}." for kind, meaning in EVENT_KINDS.items())
    )
    about: dict[str, Any] = Field(description="Further fields of the event, which depend on its kind.")


class EventList(BaseModel):
    """Events of an experiment, in order."""

    events: list[EventInfo]
    next: int = Field(description="Value of `after` for the next request.")


class Health(BaseModel):
    """Status of the service."""

    status: str
    version: str
