"""Stopping rules of a live experiment: whether one arm is the best with the required confidence.

The rules are those of `stopping_policy.py`, applied outside the kernels and to recorded rewards alone,
because kernels do not support pending pulls, corrections and other scales. The event that a rule was met is
recorded, so that a replay need not check it again. Skipping a check only makes a rule more conservative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from tideproof.analysis.fit_result import Fit
from tideproof.errors import BudgetTooSmall, InputError, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.reward_kinds import REWARD_KINDS, Rewards
from tideproof.experiment.settings import ExperimentSettings, Rule, settings_of
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.state.pulls_book import Book
from tideproof.experiment.state.ratio_odds_fit import RescaledFit
from tideproof.experiment.stopping.look_rule import LookStopRule, look_rule_of
from tideproof.experiment.stopping.race_rule import RaceStopRule, race_rule_of
from tideproof.experiment.stopping.stop_check import StopCheck
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
from tideproof.policies.stopping_policy import (
    STOPPING_RULES,
    check_confidence,
    rule_prefix,
    with_stopping_rule,
)
from tideproof.text import format_count

UNLIMITED = 10_000_000  # maximum number of pulls without a budget, for rewards without a proven rule
PROVEN_SHARE = 0.2  # share of the error probability that the proven rule has, if there is no budget
# Shares of the required deviate, by differences and on the scale, from which the costly test is worthwhile
_HOPE, _WORTH = 0.5, 0.7
_PROVEN_PROMISE = "a theorem bounds the error rate, however often the rule is checked"
_ROWS_PER_REWARD = 1000  # a costly check waits for one more reward per so many environments


class StopRule(NamedTuple):
    """Rule that stops an experiment once one arm is the best with the required confidence.

    Attributes
    ----------
    confidence, name : the confidence level and the name of the rule, as given.
    cap : number of pulls up to which the calibrated rule is valid.
    later : whether the proven rule applies after that number.
    normal : whether rewards are normal.
    """

    confidence: float
    name: str
    cap: int
    later: bool
    normal: bool

    def check(self, state: State, fit: Callable[[], Fit]) -> StopCheck:
        """Evaluate the rule: find out whether one arm is the best with the required confidence.

        `fit` computes a fit if one is needed.
        """
        numbers, rule = state.policy_state, self.current(state.book)
        if not STOPPING_RULES[rule].calibrated:
            return _check_proven(numbers, self._error(rule))
        if _used_pulls(state.book) > self.cap:
            return StopCheck(None, rule)
        bound = self.needed(state)
        if not self.normal:
            return _check_by_scores(numbers, normal_quantile_of_bound(bound), fit)
        leader = leader_of(numbers.fit)
        found = is_leader_significant(numbers.fit, leader, None, normal_quantile_of_bound(bound), bound)
        return StopCheck(numbers.active[leader] if found else None, rule)

    def needed(self, state: State) -> float:
        """Return the evidence that is needed to stop, as minus the logarithm of a tail probability."""
        rule = self.current(state.book)
        if not STOPPING_RULES[rule].calibrated:
            return -math.log(self._error(rule))
        return _bound(len(state.policy_state.active), self._max_checks(state), 1.0 - self._error(rule))

    def current(self, book: Book) -> str:
        """Return the name of the stopping rule that applies now: `"calibrated"` or `"proven"`."""
        return (
            "proven"
            if not STOPPING_RULES[self.name].calibrated or (self.later and _used_pulls(book) > self.cap)
            else "calibrated"
        )

    def _max_checks(self, state: State) -> int:
        """Return how often the stopping rule is expected to be evaluated in the whole experiment.

        It counts checks up to the largest number of pulls for which the rule is valid, and assumes the mean
        batch size so far.

        A summary of thousands of rewards is one batch, after which the rule is checked once. If summaries
        make a pull stand for several rewards, the maximum stands for as many.
        """
        book, batches = state.book, state.policy_state.batches
        told = book.settled + book.surplus + book.warm
        cap = self.cap * (book.settled + book.surplus) / book.settled if book.settled else max(self.cap, told)
        return max(batches, math.ceil(cap * batches / max(told, 1)))

    def _error(self, rule: str) -> float:
        error = 1.0 - self.confidence
        if not (STOPPING_RULES[self.name].calibrated and self.later):
            return error
        return error * (1.0 - PROVEN_SHARE if STOPPING_RULES[rule].calibrated else PROVEN_SHARE)

    def recommendation_fields(self, book: Book) -> dict[str, Any]:
        """Return the fields of a recommendation that describe the stopping rule and whether it is met."""
        rule = self.current(book) if book.sure is None else book.sure.rule
        promise = (
            f"the error rate was calibrated by simulation, with a check after every reward and up to "
            f"{format_count(self.cap, 'pull')}"
        )
        if not self.normal:
            promise += "; for this kind of reward it is approximate"
        return {
            "confidence": self.confidence,
            "rule": rule,
            "sure": book.sure is not None,
            "anytime": True,
            "promise": promise if STOPPING_RULES[rule].calibrated else _PROVEN_PROMISE,
        }


class StopCheckSchedule:
    """Schedule that says when to evaluate a stopping rule again, given its last result."""

    def __init__(self) -> None:
        self._last_state: tuple[float, ...] = ()
        self._next = 0
        self._sure = False  # whether an arm was surely best at the last check

    def is_due(self, state: State) -> bool:
        """Return whether enough has changed to evaluate the stopping rule again."""
        if self._sure:  # the event was undone since
            return True
        return self._now(state) != self._last_state and state.policy_state.fit.told[0] >= self._next

    def note(self, state: State, found: StopCheck) -> None:
        """Store the result of the last evaluation of the stopping rule."""
        numbers, told = state.policy_state, int(state.policy_state.fit.told[0])
        self._last_state, self._sure = self._now(state), found.arm is not None
        self._next = 0
        if found.costly:  # the calibrated check reads all rewards again, the proven one all environments
            many = len(numbers.environments.with_rewards) // _ROWS_PER_REWARD
            self._next = told + (many if REWARD_KINDS[state.settings.rewards].normal else 1 + told // 100)

    def _now(self, state: State) -> tuple[float, ...]:
        numbers, book = state.policy_state, state.book
        return numbers.batches, float(numbers.fit.rss[0]), len(book.arms), len(book.retired)


@lru_cache(1024)
def _bound(arms: int, cap: int, confidence: float) -> float:
    return find_bound(arms, cap, confidence)


def _used_pulls(book: Book) -> int:
    """Return the number of pulls so far, as the calibrated stopping rule counts them.

    These are the pulls with rewards, or the summaries if there are more summaries than such pulls.
    """
    return max(book.settled, len(book.summaries))


def _check_proven(numbers: PolicyState, error: float) -> StopCheck:
    """Evaluate the stopping rule `"proven"`: find out whether the leading arm is the best.

    A theorem bounds the error probability of this rule.
    """
    bound, checkpoints = -math.log(error), numbers.checkpoints
    leader = leader_of(numbers.fit)
    if checkpoints is None or not may_reach_bound(
        numbers.fit, leader, None, bound
    ):  # a cheap necessary condition
        return StopCheck(None, "proven")
    position = {arm: i for i, arm in enumerate(checkpoints.arms)}
    proof, fit = checkpoints.current_proof(numbers.rewards.laplacian_of(checkpoints.arms))
    own = position[numbers.active[leader]]
    if not proof.moments[0] or not least_evidence(proof, fit, own) > -math.inf:
        return StopCheck(None, "proven", costly=True)
    least = min(proof.logs[position[arm]] for arm in numbers.active if position[arm] != own)
    return StopCheck(numbers.active[leader] if least >= bound else None, "proven", costly=True)


def _check_by_scores(numbers: PolicyState, deviate: float, fit: Callable[[], Fit]) -> StopCheck:
    """Evaluate the calibrated stopping rule by tests that are valid for rare events and skewed amounts."""
    nothing = StopCheck(None, "calibrated")
    if least_lead(numbers.fit, leader_of(numbers.fit), None) < _HOPE * deviate:
        return nothing
    if numbers.scale != "difference":
        found = numbers.rescaled()
        if found is None or _rescaled_lead(found, numbers.rewards.sign) < _WORTH * deviate:
            return nothing
    made = fit()
    sure = len(made.groups) == 1 and made.lead(made.best) >= deviate
    arm = numbers.active[made.cells.arms.index(made.best)] if sure else None
    return StopCheck(arm, "calibrated", costly=True)


def _rescaled_lead(found: RescaledFit, sign: float) -> float:
    """Return the leading arm's smallest lead over another arm, by ratios or odds, in standard errors."""
    theta, P = sign * found.theta, found.P
    leader = int(np.argmax(theta))
    variance = found.noise * (P[leader, leader] + np.diag(P) - 2.0 * P[leader])
    others = np.arange(theta.size) != leader
    gaps = (theta[leader] - theta)[others]
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(gaps / np.sqrt(variance[others]), nan=0.0).min())


# -- options of an experiment


AnyStopRule = StopRule | RaceStopRule | LookStopRule


def rule_of(created: e.Created) -> AnyStopRule | None:
    """Return the stopping rule that was set when the experiment was created, or None."""
    settings = settings_of(created)
    if settings.environments is not None:
        return race_rule_of(settings)
    if settings.looks is not None:
        return look_rule_of(settings)
    if settings.confidence is None or settings.rule is None:
        return None
    normal = REWARD_KINDS[settings.rewards].normal
    cap = created.budget or (DEFAULT_BUDGET if normal else UNLIMITED)
    return StopRule(settings.confidence, settings.rule, cap, normal and created.budget is None, normal)


def check_rule(settings: ExperimentSettings) -> None:
    """Raise an error if a saved experiment has an invalid confidence level or stopping rule."""
    if settings.looks is not None:
        look_rule_of(settings)
    elif settings.confidence is not None or settings.rule is not None:
        check_confidence(settings.confidence)
        rule_prefix(settings.rule)


def checked_rule(
    given: tuple[float | None, str | None], spec: PolicySpec, rewards: Rewards, arms: int, budget: int | None
) -> dict[str, Any]:
    """Validate the stopping options of a new experiment, and return them as they are stored."""
    confidence, rule = given
    if confidence is None:
        if rule is not None:
            raise InputError(f"rule={describe_value(rule)} requires confidence, such as confidence=0.95")
        return {}
    rule = "calibrated" if rule is None else rule
    if spec.policy.tide in NOISE_MODELS:
        raise InputError(
            f"confidence={describe_value(confidence)} is not possible with {spec.label}: stopping rules "
            f"assume equal variances, one shift for all arms and no outlying cells. Give a budget instead, "
            f"or use the policy {spec.policy.name.removeprefix(spec.policy.tide)!r}"
        )
    with_stopping_rule(spec.policy, rule_prefix(rule)).selection(
        spec.selection.name
    )  # raises an error if the policy cannot have this rule
    options = {"confidence": check_confidence(confidence), "rule": cast(Rule, rule)}
    if not (STOPPING_RULES[rule].calibrated or REWARD_KINDS[rewards].normal):
        raise InputError(f"rule={rule!r} is not available for rewards={rewards!r}; use rule='calibrated'")
    least = max(
        arms + MINIMUM_FREEDOM, spec.policy.minimum(arms, spec.params(arms, UNLIMITED))
    )  # if all are in one environment
    if budget is not None and budget < least:
        raise BudgetTooSmall(
            f"a budget of {budget} is too small for a stopping rule with {arms} arms: give at least {least}"
        )
    return options
