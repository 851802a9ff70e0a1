"""Stopping rule of an experiment with planned looks: only a look can find that an arm is the best."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tideproof.analysis.fit_result import Fit
from tideproof.checks import require_whole_number
from tideproof.errors import InputError, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.look_progress import LookProgress
from tideproof.experiment.settings import ExperimentSettings
from tideproof.experiment.state.pulls_book import Book
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.stopping_policy import check_confidence
from tideproof.stats.looks.look_plan import MOST_LOOKS, Looks
from tideproof.stats.looks.spending_functions import SpendingName, require_spending

NAME = "looks"
_DEFAULT_CONFIDENCE = 0.95
_EQUAL = 1e-9  # relative difference of variances of the same rewards, by rounding
_PROMISE = "valid at all planned looks together"


class LookStopRule(NamedTuple):
    """Rule that stops an experiment if a planned look names the best arm.

    Attributes
    ----------
    confidence : confidence level of all statements at all looks together.
    planned, spending : number of planned looks, and the name of the spending function.
    """

    confidence: float
    planned: int
    spending: SpendingName
    normal: bool = False

    def is_over(self, book: Book) -> bool:
        """Return whether the last planned look was made."""
        return bool(book.looks) and book.looks[-1].look >= self.planned

    def is_current(self, book: Book) -> bool:
        """Return whether no reward has been recorded since the last look."""
        return bool(book.looks) and book.looks[-1].recorded == book.recorded

    def next_look(self, book: Book) -> float:
        """Return the next look: the next whole number."""
        return math.floor(book.looks[-1].look) + 1.0 if book.looks else 1.0

    def resolve(self, book: Book, look: float | None = None) -> Looks:
        """Return the plan with its current look, `look` or the next one, and the past looks.

        Without new rewards it is the last look again. Raise an error if the look is not possible.
        """
        again = self.is_current(book)
        if look is None:
            look = book.looks[-1].look if again else self.next_look(book)
        is_last = again and look == book.looks[-1].look
        return self._plan_at(book, look, book.looks[:-1] if is_last else book.looks)

    def plan_for_reading(self, book: Book) -> Looks:
        """Return the plan with which a fit is made between looks: as if the next look were made now."""
        if self.is_over(book):
            return self._plan_at(book, book.looks[-1].look, book.looks[:-1])
        return self.resolve(book)

    def _plan_at(self, book: Book, look: float, past: list[e.Looked]) -> Looks:
        names = book.arms
        return Looks(
            self.planned,
            look,
            self.spending,
            [each.look for each in past],
            past_variances=tuple(
                {(names[a], names[b]): value for a, b, value in each.variances} for each in past
            ),
        )

    def look_event(self, book: Book, plan: Looks, fit: Fit, at: float, by: str | None) -> e.Looked:
        """Return the event of a look at a fit of all arms.

        It names an arm if the fit does, and if the arm is not retired.
        """
        number = {arm: index for index, arm in enumerate(book.arms)}
        variances = tuple((number[a], number[b], value) for (a, b), value in fit.pair_variances().items())
        decision = fit.decision
        arm = number[decision.best] if decision.names_winner else None
        spent = float(plan.error_spent(1.0 - self.confidence)[-1])
        return e.Looked(
            at,
            by,
            float(plan.made[-1]),
            spent,
            book.recorded,
            variances,
            None if arm in book.retired else arm,
        )

    def progress(self, book: Book) -> LookProgress:
        """Return which looks were made, and when the next one is due."""
        following = None if self.is_over(book) else self.next_look(book)
        due = None
        if following is not None and book.budget is not None:
            due = math.ceil(book.budget * min(1.0, following / self.planned))
        return LookProgress(
            self.planned,
            self.spending,
            tuple(each.look for each in book.looks),
            book.looks[-1].spent if book.looks else 0.0,
            self.is_current(book),
            following,
            due,
        )

    def recommendation_fields(self, book: Book) -> dict[str, Any]:
        """Return the fields of a recommendation that describe the plan and whether a look named an arm."""
        return {
            "confidence": self.confidence,
            "rule": NAME,
            "sure": book.sure is not None,
            "promise": _PROMISE,
            "looks": self.progress(book),
        }


def repeats_look(book: Book, event: e.Looked) -> bool:
    """Return whether a look at the same rewards, with the same result, was already recorded."""
    if not book.looks:
        return False
    last, named = book.looks[-1], None if book.sure is None else book.sure.arm
    return (last.look, last.recorded, named) == (event.look, event.recorded, event.arm) and all(
        a[:2] == b[:2] and math.isclose(a[2], b[2], rel_tol=_EQUAL)
        for a, b in zip(last.variances, event.variances, strict=False)
    )


def look_rule_of(settings: ExperimentSettings) -> LookStopRule:
    """Return the planned looks in the settings of an experiment, or raise an error if they are invalid."""
    assert settings.looks is not None
    planned, spending = checked_plan(settings.looks)
    return LookStopRule(check_confidence(settings.confidence), planned, spending)


def checked_plan(looks: Any) -> tuple[int, SpendingName]:
    """Return the planned number of looks and the spending function, or raise an error.

    >>> checked_plan(14), checked_plan(Looks(5, spending="obrien-fleming"))
    ((14, 'pocock'), (5, 'obrien-fleming'))
    """
    spending: Any = "pocock"
    if isinstance(looks, Looks):
        if looks.look is not None or looks.past is not None or looks.file is not None:
            raise InputError(
                f"an experiment stores its looks itself: give only the plan, tp.Looks({looks.looks:g}), "
                f"not {looks!r}"
            )
        looks, spending = looks.looks, looks.spending
    elif isinstance(looks, (list, tuple)) and len(looks) == 2:
        looks, spending = looks
    if isinstance(looks, float) and looks.is_integer():
        looks = int(looks)
    return require_whole_number("looks", looks, 1, MOST_LOOKS), require_spending(spending)


def checked_looks(
    looks: Any, given: tuple[float | None, str | None], spec: PolicySpec, has_environments: bool
) -> dict[str, Any]:
    """Validate the planned looks of a new experiment, and return them with the confidence, as stored."""
    confidence, rule = given
    if rule is not None:
        raise InputError(
            f"rule={describe_value(rule)} is for looks at any time: omit it, or omit looks={looks!r}"
        )
    if has_environments or spec.policy.adaptive:
        name = "environments=" if has_environments else f"policy={spec.label!r}"
        raise InputError(
            f"looks={looks!r} needs traffic that does not follow rewards, unlike {name}: use "
            f"policy='round-robin', or confidence= without looks="
        )
    confidence = check_confidence(_DEFAULT_CONFIDENCE if confidence is None else confidence)
    return {"confidence": confidence, "looks": list(checked_plan(looks))}
