"""Who was asked what, and what became of it: everything of an experiment that is no arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, NamedTuple

from tideproof.errors import UnknownName
from tideproof.experiment.events.event_records import Sure
from tideproof.experiment.pull import CANCELLED, EXPIRED, OUT, Label, Pull


class Summary(NamedTuple):
    """Rewards of one arm in one environment, told at once."""

    arm: str
    environment: Label
    n: int
    mean: float
    variance: float

    def said(self) -> str:
        """Return it as it was told: `n=4, mean=1.0, ...`."""
        return ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())


class SharePlan(NamedTuple):
    """Shares of all arms, for that many units more."""

    shares: tuple[float, ...]
    left: int


class BookUndo(NamedTuple):
    """What `Book.restore` needs to go back: lengths, pulls as they were, and single values."""

    pulls: int
    summaries: int
    arms: int
    retired: int
    touched: dict[int, tuple[str, float | None]]
    asked: list[int]
    added: int
    unit: tuple[str | None, int | None]
    plan: tuple[Label | None, SharePlan | None]
    values: tuple[Any, ...]
    reserved: list[int]


class Book:
    """Pulls, summaries, units and arms, and what is left of the budget.

    Attributes
    ----------
    arms, retired : names of all arms; numbers of those that are not played any more.
    pulls, status, rewards, asked_at : of every pull, by its number.
    number : of a pull, by its id.
    out : numbers of the pulls that are out, the oldest first.
    summaries : with their keys and times.
    keyed : places of the summaries that had a key, by it.
    units : number of the pull of each unit, by the hash of its name.
    of_units : numbers of all pulls that units got.
    reserves, reserved : whether a unit must see its pull before it counts; those out that none saw, the
        oldest first.
    plans : shares that units are drawn from, by environment.
    added : rewards of units that were told with a key, by pull and key.
    budget, current, session, salt : as the events left them.
    settled, surplus, warm : pulls told or summarised; told rewards beyond; rewards from before.
    lost : pulls that returned to the budget.
    late : pulls that were told after their window had closed.
    asked : pulls of each arm, without those.
    paused, stopped : whether nothing is asked.
    sure : the event that says which arm is the best; None while none does.
    tide : `"labels"`, `"hidden"` or `"both"`; `"auto"` until the first pull, summary or warm start says.
    """

    VALUES = (
        "budget", "current", "session", "salt", "settled", "surplus", "warm", "lost", "late", "paused",
        "stopped", "sure", "units", "plans", "tide",
    )  # fmt: skip

    def __init__(
        self, arms: Iterable[str], budget: int | None, session: str, salt: str, tide: str = "labels"
    ) -> None:
        self.arms, self.retired = list(arms), list[int]()
        self.pulls: list[Pull] = []
        self.status: list[str] = []
        self.rewards: list[float | None] = []
        self.asked_at: list[float] = []
        self.number: dict[str, int] = {}
        self.out: dict[int, None] = {}
        self.summaries: list[tuple[str | None, Summary, float]] = []
        self.keyed: dict[str, int] = {}
        self.units: dict[str, int] = {}
        self.of_units: set[int] = set()
        self.reserves, self.reserved = False, dict[int, None]()
        self.plans: dict[Label, SharePlan] = {}
        self.added: dict[tuple[int, str], float] = {}
        self.budget, self.session, self.salt, self.tide = budget, session, salt, tide
        self.current: Label | None = None
        self.settled = self.surplus = self.warm = self.lost = self.late = 0
        self.paused = self.stopped = False
        self.sure: Sure | None = None
        self.asked = [0] * len(self.arms)

    def save(self, touched: Iterable[int], unit: str | None = None, label: Label | None = None) -> BookUndo:
        """Return what to go back to after changes to these pulls, this unit and the plan of this label."""
        return BookUndo(
            len(self.pulls),
            len(self.summaries),
            len(self.arms),
            len(self.retired),
            {number: (self.status[number], self.rewards[number]) for number in touched},
            list(self.asked),
            len(self.added),
            (unit, None if unit is None else self.units.get(unit)),
            (label, None if label is None else self.plans.get(label)),
            _values(self),
            [number for number in touched if number in self.reserved],
        )

    def restore(self, mark: BookUndo) -> None:
        """Go back; may be done again where it was interrupted."""
        for name, value in zip(self.VALUES, mark.values, strict=True):
            setattr(self, name, value)
        self.asked = list(mark.asked)
        for number, (status, reward) in mark.touched.items():
            self.status[number], self.rewards[number] = status, reward
        for own in (self.pulls, self.status, self.rewards, self.asked_at):
            del own[mark.pulls :]
        del self.summaries[mark.summaries :], self.arms[mark.arms :], self.retired[mark.retired :]
        self.number = {id: n for id, n in self.number.items() if n < mark.pulls}
        self.units = {unit: n for unit, n in self.units.items() if n < mark.pulls}
        self.of_units = {n for n in self.of_units if n < mark.pulls}
        self.added = dict(list(self.added.items())[: mark.added])
        unit, before = mark.unit
        if unit is not None and before is not None:
            self.units[unit] = before
        label, plan = mark.plan
        if label is not None:
            self.plans = {each: p for each, p in self.plans.items() if each != label}
            if plan is not None:
                self.plans[label] = plan
        self.keyed = {key: place for key, place in self.keyed.items() if place < mark.summaries}
        self.out = dict.fromkeys(n for n, status in enumerate(self.status) if status == OUT)
        unseen = {*mark.reserved, *(n for n in self.reserved if n < mark.pulls)}
        self.reserved = dict.fromkeys(sorted(unseen))

    def ask(self, arms: Iterable[int], label: Label, at: float, unit: str | None) -> None:
        """Note pulls of these arms."""
        self.take_label()
        if unit is not None:
            self._assign(unit, label)
        for arm in arms:
            number = len(self.pulls)
            pull = Pull(f"{self.session}-{number}", self.arms[arm], label)
            self.pulls.append(pull)
            self.status.append(OUT)
            self.rewards.append(None)
            self.asked_at.append(at)
            self.number[pull.id] = number
            self.out[number] = None
            if self.reserves and unit is not None:
                self.reserved[number] = None
            self.asked[arm] += 1
        self.current = label

    def take_label(self) -> None:
        """Note that something happened in an environment: unless it was said otherwise, labels count."""
        if self.tide == "auto":
            self.tide = "labels"

    def _assign(self, unit: str, label: Label) -> None:
        """Note that the next pull is this unit's, which uses up one of the plan."""
        self.units[unit] = len(self.pulls)
        self.of_units.add(len(self.pulls))
        plan = self.plans.pop(label, None)
        if plan is not None and plan.left > 1:
            self.plans[label] = plan._replace(left=plan.left - 1)

    def settle(self, number: int, status: str, reward: float | None = None) -> int:
        """Note what became of a pull, and return 1 if it was out."""
        was = self.status[number]
        if was in (CANCELLED, EXPIRED):
            self._lose(number, -1)
        if status in (CANCELLED, EXPIRED):
            self._lose(number, 1)
        else:
            self.settled += 1
        self.status[number], self.rewards[number] = status, reward
        self.out.pop(number, None)
        self.reserved.pop(number, None)
        return 1 if was == OUT else 0

    def _lose(self, number: int, pulls: int) -> None:
        self.lost += pulls
        self.asked[self.arms.index(self.pulls[number].arm)] -= pulls

    def oldest_out(self, arm: str, label: Label, most: int) -> list[int]:
        """Return the numbers of the oldest pulls of an arm that are out in an environment."""
        found: list[int] = []
        if not most:
            return found
        for number in self.out:
            pull = self.pulls[number]
            if pull.arm == arm and pull.environment == label:
                found.append(number)
                if len(found) == most:
                    break
        return found

    @property
    def remaining(self) -> int | None:
        """Pulls that may still be asked for; None without a budget."""
        return None if self.budget is None else max(0, self.budget - len(self.pulls) + self.lost)

    @property
    def horizon(self) -> int | None:
        """The budget in rewards, as a policy counts: what summaries bring beyond their pulls comes on top.

        A pull that stands for many rewards counts as that many; rewards from before count as played.
        """
        if self.budget is None:
            return None
        if not self.settled:
            return self.budget + self.surplus + self.warm
        return round(self.budget * (self.settled + self.surplus) / self.settled) + self.warm

    def arm_number(self, arm: Any) -> int:
        """Return the number of an arm, or say which there are."""
        if not isinstance(arm, str) or arm not in self.arms:
            raise UnknownName.with_suggestion("arm", arm, self.arms)
        return self.arms.index(arm)

    @property
    def active(self) -> list[int]:
        """The numbers of the arms that are played."""
        return [arm for arm in range(len(self.arms)) if arm not in self.retired]


_values = attrgetter(*Book.VALUES)
