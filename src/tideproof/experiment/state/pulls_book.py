"""The book: all pulls of an experiment with status and rewards, its arms, units (visitors) and budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from tideproof.errors import UnknownName
from tideproof.experiment.events.event_records import Looked, Stopped, Sure
from tideproof.experiment.pull import Label, Pull, PullStatus


class Summary(NamedTuple):
    """Summary of several rewards of one arm in one environment."""

    arm: str
    environment: Label
    n: int
    mean: float
    variance: float

    def describe(self) -> str:
        """Return the summary of several rewards as text: `n=4, mean=1.0, ...`."""
        return ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())


class SharePlan(NamedTuple):
    """Planned share of each arm among the next `left` units (such as visitors) of an environment."""

    shares: tuple[float, ...]
    left: int


PLAIN = {"plain": True}  # fields that a snapshot stores as they are; `pull_columns.py` converts the others


@dataclass(eq=False)
class Book:
    """Record of an experiment's pulls, reward summaries, units (such as visitors), arms and budget.

    Attributes
    ----------
    arms, retired : names of all arms; numbers of retired arms.
    pulls, status, rewards, asked_at : data of each pull, by its number.
    number : number of each pull, by its ID.
    pending : numbers of pending pulls, the oldest first.
    summaries : summaries with their keys and times.
    keyed : index of each summary that has a key, by key.
    units : number of the pull of each unit, by the hash of its ID.
    of_units : numbers of all pulls given to units.
    reserves, reserved : whether a unit must see its arm before the pull counts; numbers of the pending pulls
        that were not seen yet, the oldest first.
    plans : planned shares for the next units, by environment.
    added : rewards of units that were told with a key, by pull and hash of the key.
    salted_from : number of the first pull for whose unit and keys the present salt is used.
    budget, current, session, salt : budget, environment of the last pull, prefix of pull IDs, and key of unit
        hashes.
    settled, surplus, warm : number of pulls with a reward, single or in a summary; rewards of summaries
        beyond their pulls; warm-start rewards.
    lost : number of pulls that returned to the budget.
    late : number of pulls told after their window had closed.
    asked : number of pulls of each arm, without those that returned to the budget.
    paused : whether asks are refused for now.
    archived_at : time at which the experiment was archived; None while it is not.
    stop : the event that stopped the experiment, or the last one that chose another arm to ship; None before.
    sure : the event that names the best arm; None while the stopping rule is not met.
    tide : `"labels"`, `"hidden"` or `"both"`; `"auto"` until the first pull, summary or warm start decides
        it.
    """

    arms: list[str]
    budget: int | None = field(metadata=PLAIN)
    session: str = field(metadata=PLAIN)
    salt: str
    tide: str = field(metadata=PLAIN)
    retired: list[int] = field(default_factory=list)
    pulls: list[Pull] = field(default_factory=list)
    status: list[PullStatus] = field(default_factory=list)
    rewards: list[float | None] = field(default_factory=list)
    asked_at: list[float] = field(default_factory=list)
    number: dict[str, int] = field(default_factory=dict)
    pending: dict[int, None] = field(default_factory=dict)
    summaries: list[tuple[str | None, Summary, float]] = field(default_factory=list)
    keyed: dict[str, int] = field(default_factory=dict)
    units: dict[str, int] = field(default_factory=dict)
    of_units: set[int] = field(default_factory=set)
    reserves: bool = False
    reserved: dict[int, None] = field(default_factory=dict)
    plans: dict[Label, SharePlan] = field(default_factory=dict)
    added: dict[tuple[int, str], float] = field(default_factory=dict)
    current: Label | None = field(default=None, metadata=PLAIN)
    settled: int = field(default=0, metadata=PLAIN)
    surplus: int = field(default=0, metadata=PLAIN)
    warm: int = field(default=0, metadata=PLAIN)
    lost: int = field(default=0, metadata=PLAIN)
    late: int = field(default=0, metadata=PLAIN)
    paused: bool = field(default=False, metadata=PLAIN)
    archived_at: float | None = field(default=None, metadata=PLAIN)
    stop: Stopped | None = None
    sure: Sure | None = None
    looks: list[Looked] = field(default_factory=list)
    salted_from: int = field(default=0, metadata=PLAIN)
    asked: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.asked = [0] * len(self.arms)

    @classmethod
    def plain_fields(cls) -> list[str]:
        """Return the names of the fields that a snapshot of the experiment stores unchanged."""
        return [each.name for each in fields(cls) if each.metadata.get("plain")]

    def ask(self, arms: Iterable[int], label: Label, at: float, unit: str | None) -> None:
        """Add pending pulls of these arms."""
        self.take_label()
        if unit is not None:
            self._assign(unit, label)
        for arm in arms:
            number = len(self.pulls)
            pull = Pull(f"{self.session}-{number}", self.arms[arm], label)
            self.pulls.append(pull)
            self.status.append(PullStatus.PENDING)
            self.rewards.append(None)
            self.asked_at.append(at)
            self.number[pull.id] = number
            self.pending[number] = None
            if self.reserves and unit is not None:
                self.reserved[number] = None
            self.asked[arm] += 1
        self.current = label

    def take_label(self) -> None:
        """Change the option `tide` (model of the shifts) to `"labels"` if it is still `"auto"`."""
        if self.tide == "auto":
            self.tide = "labels"

    def _assign(self, unit: str, label: Label) -> None:
        """Assign the next pull to a unit, such as a visitor.

        The planned shares are for one unit less.
        """
        if unit:  # otherwise its hash was deleted
            self.units[unit] = len(self.pulls)
        self.of_units.add(len(self.pulls))
        plan = self.plans.pop(label, None)
        if plan is not None and plan.left > 1:
            self.plans[label] = plan._replace(left=plan.left - 1)

    def settle(self, number: int, status: PullStatus, reward: float | None = None) -> int:
        """Set the status and the reward of a pull; return 1 if it was pending, else 0."""
        was = self.status[number]
        if was in (PullStatus.CANCELLED, PullStatus.EXPIRED):
            self._lose(number, -1)
        if status in (PullStatus.CANCELLED, PullStatus.EXPIRED):
            self._lose(number, 1)
        else:
            self.settled += 1
        self.status[number], self.rewards[number] = status, reward
        self.pending.pop(number, None)
        self.reserved.pop(number, None)
        return 1 if was == PullStatus.PENDING else 0

    def _lose(self, number: int, pulls: int) -> None:
        self.lost += pulls
        self.asked[self.arms.index(self.pulls[number].arm)] -= pulls

    def oldest_pending(self, arm: str, label: Label, most: int) -> list[int]:
        """Return the numbers of the `most` oldest pending pulls of an arm in an environment."""
        found: list[int] = []
        if not most:
            return found
        for number in self.pending:
            pull = self.pulls[number]
            if pull.arm == arm and pull.environment == label:
                found.append(number)
                if len(found) == most:
                    break
        return found

    @property
    def remaining(self) -> int | None:
        """Number of pulls that the experiment may still assign; None without a budget."""
        return None if self.budget is None else max(0, self.budget - len(self.pulls) + self.lost)

    @property
    def horizon(self) -> int | None:
        """Number of rewards for which the policy plans: the budget, converted from pulls to rewards.

        If summaries make a pull stand for several rewards, the remaining pulls are counted in the same way.
        Warm-start rewards count as played.
        """
        if self.budget is None:
            return None
        if not self.settled:
            return self.budget + self.surplus + self.warm
        return round(self.budget * (self.settled + self.surplus) / self.settled) + self.warm

    @property
    def recorded(self) -> int:
        """Number of rewards recorded, including summaries and rewards from before the experiment."""
        return self.settled + self.surplus + self.warm

    @property
    def stopped(self) -> bool:
        """Whether the experiment was stopped permanently, so that it assigns no more pulls."""
        return self.stop is not None

    @property
    def shipped(self) -> str | None:
        """The arm that every visitor gets: a person chose it, or else the stopping rule found it the best.

        None if there is no such decision. A budget that is used up decides nothing.
        """
        if self.stop is not None and self.stop.ship is not None:
            return self.arms[self.stop.ship]
        return None if self.sure is None else self.arms[self.sure.arm]

    def arm_number(self, arm: Any) -> int:
        """Return the number of the arm with a given name, or raise an error."""
        if not isinstance(arm, str) or arm not in self.arms:
            raise UnknownName.with_suggestion("arm", arm, self.arms)
        return self.arms.index(arm)

    @property
    def active(self) -> list[int]:
        """The numbers of the arms that are not retired."""
        return [arm for arm in range(len(self.arms)) if arm not in self.retired]
