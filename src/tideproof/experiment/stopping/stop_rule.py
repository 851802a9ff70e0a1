"""When a live run may stop: the selected arm is the best, with a confidence that looking does not spoil.

The rules are those of `stopping_policy.py`, asked outside the kernels and of told rewards alone: pulls
that are out, corrections and other scales are nothing that a kernel knows of. That a rule held is an event,
so that nobody who replays it has to reckon. A look that does not happen only makes a rule more careful.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from tideproof.analysis.fit_result import Fit
from tideproof.errors import BudgetTooSmall, InputError, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.state.pulls_book import Book
from tideproof.experiment.state.rescaled_fit import RescaledFit, Rewards
from tideproof.kernels.choose.leader_lead import (
    MINIMUM_FREEDOM,
    is_leader_significant,
    leader_of,
    least_lead,
    may_reach_bound,
)
from tideproof.kernels.fit.e_process import least_evidence
from tideproof.policies.calibrated_bounds import DEFAULT_BUDGET, find_bound, normal_quantile_of_bound
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.statistics_models import NOISE_MODELS
from tideproof.policies.stopping_policy import check_confidence, rule_prefix, with_stopping_rule
from tideproof.text import format_count

Rule = Literal["calibrated", "proven"]

LONG = 10_000_000  # looks; the cap without a budget for rewards of which nothing is proven beyond it
LATER = 0.2  # share of the error that is left to the proven rule after the cap, where there is no budget
_HOPE, _WORTH = 0.5, 0.7  # of the deviate that is needed: by differences, then by ratios, worth a closer look
_ROWS = 1000  # environments for which one reward more is worth a look


class StopCheck(NamedTuple):
    """What a look found: the number of the arm that is surely best, by which rule; whether it took long."""

    arm: int | None
    rule: str
    costly: bool = False


class StopRule(NamedTuple):
    """What an experiment stops by.

    Attributes
    ----------
    confidence, name : as they were given.
    cap : pulls up to which the calibrated rule holds.
    later : whether the proven one holds after it.
    normal : whether rewards are.
    """

    confidence: float
    name: str
    cap: int
    later: bool
    normal: bool

    def look(self, state: State, fit: Callable[[], Fit]) -> StopCheck:
        """Say which arm is surely the best, if one is; `fit` makes the fit of all that was told."""
        numbers, rule = state.numbers, self.current(state.book)
        if rule == "proven":
            return _proven(numbers, self._error(rule))
        if _used(state.book) > self.cap:
            return StopCheck(None, rule)
        bound = self.needed(state)
        if not self.normal:
            return _by_scores(numbers, normal_quantile_of_bound(bound), fit)
        leader = leader_of(numbers.fit)
        found = is_leader_significant(numbers.fit, leader, None, normal_quantile_of_bound(bound), bound)
        return StopCheck(numbers.active[leader] if found else None, rule)

    def needed(self, state: State) -> float:
        """Return the evidence that is asked for, as minus the logarithm of a tail probability."""
        rule = self.current(state.book)
        if rule == "proven":
            return -math.log(self._error(rule))
        return _bound(len(state.numbers.active), self._looks(state), 1.0 - self._error(rule))

    def current(self, book: Book) -> str:
        """Return the rule that holds now."""
        return "proven" if self.name == "proven" or (self.later and _used(book) > self.cap) else "calibrated"

    def _looks(self, state: State) -> int:
        """Return how many looks there can be up to the cap, if rewards go on to come as many at a time.

        A summary of thousands is one look. Where a pull stands for many rewards, the cap does, too.
        """
        book, batches = state.book, state.numbers.batches
        told = book.settled + book.surplus + book.warm
        cap = self.cap * (book.settled + book.surplus) / book.settled if book.settled else max(self.cap, told)
        return max(batches, math.ceil(cap * batches / max(told, 1)))

    def _error(self, rule: str) -> float:
        error = 1.0 - self.confidence
        if self.name == "proven" or not self.later:
            return error
        return error * (LATER if rule == "proven" else 1.0 - LATER)

    def said(self, book: Book) -> dict[str, Any]:
        """Return what a recommendation says of it."""
        rule = self.current(book) if book.sure is None else book.sure.rule
        promise = f"calibrated for a look whenever something is told, up to {format_count(self.cap, 'pull')}"
        if not self.normal:
            promise += ", as far as fit() is right about such rewards"
        return {
            "confidence": self.confidence,
            "rule": rule,
            "sure": book.sure is not None,
            "anytime": True,
            "promise": promise if rule == "calibrated" else "proven, however often one looks",
        }


class Looks:
    """When somebody looked last: no part of the state."""

    def __init__(self) -> None:
        self._seen: tuple[float, ...] = ()
        self._next = 0
        self._sure = False  # what was seen

    def due(self, state: State) -> bool:
        """Tell whether something changed since, enough to be worth what a look costs; nobody is sure now."""
        if self._sure:  # that was taken back
            return True
        return self._now(state) != self._seen and state.numbers.fit.told[0] >= self._next

    def note(self, state: State, found: StopCheck) -> None:
        """Remember that somebody looked, and what he found."""
        numbers, told = state.numbers, int(state.numbers.fit.told[0])
        self._seen, self._sure = self._now(state), found.arm is not None
        self._next = 0
        if found.costly:  # by scores: from all rewards anew; by proof: from all environments
            many = len(numbers.places.told) // _ROWS
            self._next = told + (many if state.created.options.get("rewards") is None else 1 + told // 100)

    def _now(self, state: State) -> tuple[float, ...]:
        numbers, book = state.numbers, state.book
        return numbers.batches, float(numbers.fit.rss[0]), len(book.arms), len(book.retired)


@lru_cache(1024)
def _bound(arms: int, cap: int, confidence: float) -> float:
    return find_bound(arms, cap, confidence)


def _used(book: Book) -> int:
    """Return how much of the cap is used up: pulls that were told, or summaries of what was not asked for."""
    return max(book.settled, len(book.summaries))


def _proven(numbers: PolicyState, error: float) -> StopCheck:
    """Look whether it is proven that the leader is best."""
    bound, then = -math.log(error), numbers.then
    leader = leader_of(numbers.fit)
    if then is None or not may_reach_bound(numbers.fit, leader, None, bound):  # else no need to look
        return StopCheck(None, "proven")
    place = {arm: i for i, arm in enumerate(then.arms)}
    proof, fit = then.now(numbers.sums_of(then.arms))
    own = place[numbers.active[leader]]
    if not proof.moments[0] or not least_evidence(proof, fit, own) > -math.inf:
        return StopCheck(None, "proven", costly=True)
    least = min(proof.logs[place[arm]] for arm in numbers.active if place[arm] != own)
    return StopCheck(numbers.active[leader] if least >= bound else None, "proven", costly=True)


def _by_scores(numbers: PolicyState, deviate: float, fit: Callable[[], Fit]) -> StopCheck:
    """Look by tests that survive rare events and skewed money."""
    nothing = StopCheck(None, "calibrated")
    if least_lead(numbers.fit, leader_of(numbers.fit), None) < _HOPE * deviate:
        return nothing
    if numbers.scale != "difference":
        found = numbers.scaled()
        if found is None or _quick_lead(found, numbers.sign) < _WORTH * deviate:
            return nothing
    made = fit()
    sure = len(made.groups) == 1 and made.lead(made.best) >= deviate
    arm = numbers.active[made.cells.arms.index(made.best)] if sure else None
    return StopCheck(arm, "calibrated", costly=True)


def _quick_lead(found: RescaledFit, sign: float) -> float:
    """Return the least lead of the leader, in standard errors."""
    theta, P = sign * found.theta, found.P
    leader = int(np.argmax(theta))
    variance = found.noise * (P[leader, leader] + np.diag(P) - 2.0 * P[leader])
    others = np.arange(theta.size) != leader
    gaps = (theta[leader] - theta)[others]
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(gaps / np.sqrt(variance[others]), nan=0.0).min())


# -- what it is given


def rule_of(created: e.Created) -> StopRule | None:
    """Return the rule of an experiment, if it has one."""
    options = created.options
    if "confidence" not in options:
        return None
    normal = "rewards" not in options
    cap = created.budget or (DEFAULT_BUDGET if normal else LONG)
    return StopRule(options["confidence"], options["rule"], cap, normal and created.budget is None, normal)


def check_rule(created: e.Created) -> None:
    """Raise if a file has a rule that no experiment has."""
    options = created.options
    if "confidence" in options or "rule" in options:
        check_confidence(options.get("confidence"))
        rule_prefix(options.get("rule"))


def checked_rule(
    given: tuple[float | None, str | None], spec: PolicySpec, rewards: Rewards, arms: int, budget: int | None
) -> dict[str, Any]:
    """Return the options of an experiment that stops when it is sure, or say why it cannot."""
    confidence, rule = given
    if confidence is None:
        if rule is not None:
            raise InputError(f"rule={describe_value(rule)} needs a confidence, such as confidence=0.95")
        return {}
    rule = "calibrated" if rule is None else rule
    if spec.policy.tide in NOISE_MODELS:
        raise InputError(
            f"confidence={describe_value(confidence)} does not go with {spec.label}: rules that stop are "
            "calibrated "
            f"for equal noise, one tide for all and cells that are right; give a budget, or the policy "
            f"{spec.policy.name.removeprefix(spec.policy.tide)!r}"
        )
    stopping = with_stopping_rule(spec.policy, rule_prefix(rule))
    stopping.selection(spec.selection.name)  # raises if it cannot be
    options = {"confidence": check_confidence(confidence), "rule": cast(Rule, rule)}
    if rule == "proven" and rewards != "normal":
        raise InputError(f"nothing is proven for {rewards}; use rule='calibrated'")
    least = max(
        arms + MINIMUM_FREEDOM, spec.policy.minimum(arms, spec.params(arms, LONG))
    )  # in one environment
    if budget is not None and budget < least:
        raise BudgetTooSmall(
            f"a budget of {budget} is too small to be sure of one of {arms} arms: at least {least}"
        )
    return options
