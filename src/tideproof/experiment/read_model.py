"""Copies of an experiment at one point in time, from which results are computed without holding its lock.

`Experiment.internals.read()` returns a `ReadModel`. Recommendations, diagnostics, reports, web pages,
webhooks and the commands for stores all take their numbers from one, so that they agree.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis.arm_comparisons import About, finite_or_none
from tideproof.analysis.fit_result import Fit
from tideproof.analysis.scale_choice import ScaleChoice
from tideproof.analysis.words.decision_text import groups_text
from tideproof.checks import Direction, Prior, require_confidence
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError, NotComparable
from tideproof.experiment.events import event_records as e
from tideproof.experiment.pull import Pull
from tideproof.experiment.recommendation import Recommendation
from tideproof.experiment.recommendation_text import COARSE
from tideproof.experiment.state.hidden_tide_fit import TideFit
from tideproof.experiment.state.pulls_book import Book
from tideproof.experiment.usage_warnings import UsageFacts, UsageMonitor
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.statistics_models import NOISE_MODELS, NOISES, ROBUST
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.looks.look_plan import Looks
from tideproof.stats.scales.scale_properties import Scale
from tideproof.stats.variance.variance_models import ABOUT_SIMILAR, Variance
from tideproof.text import quote_if_needed

NO_INTERVALS = (
    "no fit is shown: the policy chose which pairs of arms and environments to ask for, after which "
    "intervals cover "
    "the true values too rarely. recommend() has the selected arm; after all pairs were asked for, there "
    "is a fit"
)


class ExperimentStatus(NamedTuple):
    """Settings, counts and state of an experiment at one point in time; cheap to read.

    Attributes
    ----------
    state : `"running"`, `"paused"`, `"stopped"`, or `"done"` if no further pull is needed or possible.
    created : the first event, with the settings.
    policy, scale, tide : name of the policy; scale on which it compares arms; the tide option.
    arms, retired : names of all arms; names of the retired arms.
    budget, remaining : number of pulls; number that may still be asked for; None without a limit.
    asked, pending, recorded : number of pulls without those that returned to the budget; of pending pulls; of
        rewards recorded, including summaries and warm-start rewards.
    lost, late : number of pulls that returned to the budget; of rewards that arrived after their window had
        closed.
    events : number of events.
    winner : the arm that the stopping rule found to be the best, or None.
    stop : the event that stopped the experiment, with name, time and reason; None before.
    shipped : the arm that every visitor gets because of a decision; None if nothing is shipped.
    archived_at : time at which the experiment was archived; None while it is not.
    """

    state: str
    created: e.Created
    policy: str
    scale: Scale
    tide: str
    arms: tuple[str, ...]
    retired: tuple[str, ...]
    budget: int | None
    remaining: int | None
    asked: int
    pending: int
    recorded: int
    lost: int
    late: int
    events: int
    winner: str | None
    stop: e.Stopped | None
    shipped: str | None
    archived_at: float | None


class SingleRewards:
    """Cache of the environment and the arm of each pull, so that all rewards can be copied quickly.

    The third and fourth moments of cells are computed from the copies. Only intervals for skewed rewards need
    these moments, so the state does not keep them. Pulls that were read once are not read again.
    """

    def __init__(self) -> None:
        self._labels: dict[Any, int] = {}
        self._names: dict[Any, int] = {}
        self._where, self._who = array("q"), array("q")

    def copy_rewards(self, book: Book) -> CopiedRewards:
        """Return the environment, the arm and the reward of each pull of an experiment."""
        for pull in book.pulls[len(self._where) :]:
            self._where.append(self._labels.setdefault(pull.environment, len(self._labels)))
            self._who.append(self._names.setdefault(pull.arm, len(self._names)))
        known = self._labels, len(self._labels), self._names, len(self._names)
        rewards = np.array(book.rewards, np.float64)
        return CopiedRewards(*known, np.array(self._where), np.array(self._who), rewards)


class CopiedRewards(NamedTuple):
    """Copy of the environments, arms and rewards of all pulls at one point in time.

    The two dictionaries are shared with `SingleRewards`, and only grow afterwards.

    Attributes
    ----------
    labels, label_count : number of each environment label; how many labels there were at that moment.
    names, name_count : number of each arm name; how many names there were at that moment.
    environment, arm, reward : number of the environment, number of the arm and reward of each pull; NaN where
        a pull has no reward.
    """

    labels: dict[Any, int]
    label_count: int
    names: dict[Any, int]
    name_count: int
    environment: Ints
    arm: Ints
    reward: Floats

    def in_order(self, arms: Sequence[str]) -> tuple[Ints, Floats]:
        """Return all rewards of the given arms in the order of their pulls.

        The index of its arm in `arms` comes with each reward.
        """
        index = np.full(self.name_count + 1, -1)
        index[_numbers_of(self.names, self.name_count, arms)] = np.arange(len(arms))
        index[-1] = -1  # arms without a pull
        arm = index[self.arm]
        used = (arm >= 0) & ~np.isnan(self.reward)
        return arm[used], self.reward[used]

    def add_moments(self, cells: Cells) -> Cells:
        """Return reward summaries with third and fourth moments added, if all single rewards are known.

        Otherwise the cells (the summaries by arm and environment) are returned unchanged.
        """
        position = np.full((self.label_count + 1, self.name_count + 1), -1)
        rows = _numbers_of(self.labels, self.label_count, cells.environments)
        columns = _numbers_of(self.names, self.name_count, cells.arms)
        position[rows[cells.environment], columns[cells.arm]] = np.arange(cells.n.size)
        cell = position[self.environment, self.arm]
        used = (cell >= 0) & ~np.isnan(self.reward)
        cell, reward = cell[used], self.reward[used]
        if not np.array_equal(np.bincount(cell, minlength=cells.n.size), cells.n):
            return cells
        deviation = reward - cells.mean[cell]
        cubes, fourths = (sum_by_index(cell, deviation**power, cells.n.size) for power in (3, 4))
        return replace(cells, cubes=cubes, fourths=fourths)


def _numbers_of(known: dict[Any, int], count: int, labels: Iterable[Any]) -> Ints:
    """Return the index of each label (environment or arm) by a dictionary of known labels.

    Unknown labels, and indices of at least `count`, become `count`.
    """
    return np.array([min(known.get(label, count), count) for label in labels], np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class FitInputs:
    """Copy of an experiment's rewards and options, from which fits are computed without holding the lock.

    Attributes
    ----------
    spec, direction, scale, tide : the policy; whether high or low rewards are good; the scale on which the
        policy compares arms; the tide option.
    arms, active : names of all arms; numbers of the active arms.
    has_hidden_tide, is_coarse : whether a hidden tide is estimated; whether rewards of this kind make that
        impossible.
    has_no_intervals : whether a policy chose some of all pairs of arms and environments, so that the
        intervals of a fit would cover too rarely.
    tide_fit : estimates with a hidden tide; None without rewards.
    cells : cells of all arms, without third and fourth moments; None without rewards or labels.
    looks : planned looks, with which a fit is valid at all of them together; None without a plan.
    pulls : single rewards; None for conversions, where the mean of a cell determines all its moments.
    """

    spec: PolicySpec
    direction: Direction
    scale: Scale
    tide: str
    arms: tuple[str, ...]
    active: tuple[int, ...]
    has_hidden_tide: bool
    is_coarse: bool
    has_no_intervals: bool
    tide_fit: TideFit | None
    cells: Cells | None
    pulls: CopiedRewards | None
    looks: Looks | None = None

    def fit(
        self,
        variance: Variance = "auto",
        scale: ScaleChoice | None = None,
        confidence: float = 0.95,
        *,
        prior: Prior = "exchangeable",
        anytime: bool = False,
        only_active: bool = False,
    ) -> Fit | Any:
        """Return the fit of all rewards, as `Experiment.fit` does.

        With `only_active`, the rewards of retired arms are omitted.
        """
        if self.has_no_intervals:
            raise NotComparable(NO_INTERVALS)
        if self.has_hidden_tide:
            return self._hidden_tide_fit((variance, scale, anytime), confidence, prior)
        options: dict[str, Any] = {
            "direction": self.direction,
            "adaptive": self.spec.policy.adaptive,
            "confidence": confidence,
            "prior": prior,
            "anytime": anytime,
            "looks": None if anytime else self.looks,
        }
        if not isinstance(variance, str) or variance not in ABOUT_SIMILAR:
            options["about"] = "these"  # as the stopping rule
        cells = self._cells_with_moments(only_active)
        own_options = [{"scale": self.scale}] if self.scale != "difference" else fit_options(self.spec)
        for own in own_options if scale is None and variance == "auto" else ():
            if anytime and "variance" in own:
                raise InputError(
                    f"anytime=True is not supported with the noise model of {self.spec.label}; use "
                    f"fit(variance='common', anytime=True), which assumes equal variances and one shift for "
                    f"all arms"
                )
            with suppress(InputError):  # too few rewards for this model, or all of them are 0 or 1
                return Fit(cells, **(options | own))
        return Fit(cells, **options, variance=variance, scale=scale or "difference")

    def rewards_in_order(self) -> tuple[Ints, Floats]:
        """Return the rewards of all arms that are not retired, in the order of their pulls.

        Each reward comes with the index of its arm.
        """
        assert self.pulls is not None
        return self.pulls.in_order([self.arms[arm] for arm in self.active])

    def _hidden_tide_fit(self, options: tuple[Any, ...], confidence: float, prior: Prior) -> TideFit:
        if options != ("auto", None, False):
            raise InputError(
                f"variance, scale and anytime require tide='labels'; with tide={self.tide!r} only confidence "
                f"and prior can be given"
            )
        confidence = require_confidence(confidence)
        if self.tide_fit is None:
            raise NotComparable(COARSE if self.is_coarse else "no reward has been recorded yet")
        return replace(self.tide_fit, confidence=confidence, prior=prior)

    def _cells_with_moments(self, only_active: bool) -> Cells:
        if self.cells is None:
            raise NotComparable("no reward has been recorded yet")
        cells = self.cells
        if only_active and len(self.active) < len(self.arms):
            index = np.full(len(self.arms), -1)
            index[list(self.active)] = np.arange(len(self.active))
            cells = cells.select(np.flatnonzero(index[cells.arm] >= 0))
            cells = replace(cells, arms=[self.arms[arm] for arm in self.active], arm=index[cells.arm])
        return cells if self.pulls is None else self.pulls.add_moments(cells)


@dataclass(frozen=True, eq=False, repr=False)
class ReadModel:
    """Copy of an experiment at one point in time, which later events do not change.

    The attributes are copied under the lock. What takes longer is computed outside of it, once and only if
    it is read.

    Attributes
    ----------
    status : settings, counts and state of the experiment.
    facts : counts behind the usage warnings.
    selection : the recommendation without margin, interval and probability.
    inputs : copies of rewards and options, from which fits are computed.
    bounds : returns the lower and upper bound of the advantage of one arm over another, valid at all
        inspections; None where such bounds come from the fit, or are not needed.
    prior : prior of the probabilities to be the best.
    asked_by_arm : number of pulls of each arm, without those that returned to the budget.
    at, pending : time of the copy in seconds, and the numbers of the pulls pending then, the oldest first.
    pulls, asked_at, happened, monitor, looks : pulls, their times and events, lists that only grow; the
        search for usage warnings in the events, and the number of inspections so far.
    """

    status: ExperimentStatus
    facts: UsageFacts
    selection: Recommendation
    inputs: FitInputs
    bounds: Callable[[str, str], tuple[float, float]] | None
    prior: Prior
    asked_by_arm: tuple[int, ...]
    at: float
    pending: tuple[int, ...]
    pulls: Sequence[Pull]
    asked_at: Sequence[float]
    happened: Sequence[e.Event]
    monitor: UsageMonitor
    looks: int

    @cached_property
    def recommendation(self) -> Recommendation:
        """The recommended arm with its lead, the interval of the lead, and the probability to be the best."""
        found = replace(self.selection, prior=self.prior)
        if self.inputs.has_no_intervals:
            return found
        return found if found.arm is None else add_evidence(found, self.fit_of_active, self.bounds)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Remarks of the recommendation, and warnings about likely mistakes in the use of the experiment."""
        groups = self.selection.groups
        noticed = self.monitor.remarks(self.happened, self.facts, groups, self.looks, self.status.events)
        return self.recommendation.remarks + noticed

    @cached_property
    def recommendation_with_warnings(self) -> Recommendation:
        """The recommendation with all warnings among its remarks, as `Experiment.recommend` returns it."""
        return replace(self.recommendation, remarks=self.warnings)

    @cached_property
    def fit(self) -> Fit | TideFit | None:
        """Fit of all rewards recorded so far, or None while a fit is impossible.

        A hidden tide is fitted to the active arms only. The intervals are valid at all inspections if the
        experiment has a stopping rule.
        """
        try:
            return self.inputs.fit(
                confidence=self._confidence, prior=self.prior, anytime=self.selection.anytime
            )
        except (NotComparable, InputError):
            return None

    @property
    def _confidence(self) -> float:
        """Confidence level of the intervals; that of the plan with planned looks."""
        return 0.95 if self.inputs.looks is None else self.selection.confidence or 0.95

    @cached_property
    def fit_of_active(self) -> Fit | TideFit:
        """Fit of the active (not retired) arms, from which the evidence of the recommendation is computed."""
        inputs, anytime = self.inputs, self.selection.anytime and self.bounds is None
        all_active = len(inputs.active) == len(inputs.arms)
        joint = inputs.has_hidden_tide or inputs.looks is not None  # looks promise something for all arms
        if joint or (all_active and anytime == self.selection.anytime):
            found = self.fit  # the same fit
            if found is not None:
                return found
        options: dict[str, Any] = {"prior": self.prior, "anytime": anytime}
        made: Fit | TideFit = inputs.fit(confidence=self._confidence, **options, only_active=True)
        return made

    def pending_pulls(self, most: int | None = None) -> list[tuple[Pull, float]]:
        """Return the oldest pending pulls with their ages in seconds.

        There are at most `most` of them, or all if it is None.
        """
        return [(self.pulls[number], self.at - self.asked_at[number]) for number in self.pending[:most]]


def add_evidence(
    found: Recommendation,
    fit: Fit | TideFit,
    anytime_bounds: Callable[[str, str], tuple[float, float]] | None = None,
) -> Recommendation:
    """Return a copy of a recommendation, completed by the margin, interval and probability from a fit.

    Advantages are positive for a better arm in both directions. On the ratio and odds scales they are
    relative: 0.1 means 10 %. `anytime_bounds` returns the lower and upper bound of the advantage of one arm
    over another, valid at all inspections, where they do not come from the fit.
    """
    if isinstance(fit, Fit):
        found = replace(found, left_out=_left_out(fit))
        if len(fit.groups) > 1:  # the fit excluded cells that the policy used
            remark = f"after outlying cells were excluded, {groups_text(fit.groups)}, so no lead can be given"
            return replace(found, remarks=(remark,))
    arm, rival = found.arm, fit.rival(found.arm)
    gap = fit.contrast(arm, rival, picked=True)
    limits = gap.low, gap.high
    margin, (low, high) = gap.estimate, limits
    if found.direction == "minimize":
        margin, (high, low) = -margin, (None if x is None else -x for x in limits)
    if anytime_bounds is not None and arm is not None:
        low, high = map(finite_or_none, anytime_bounds(arm, rival))
    if found.looks is not None and not found.looks.is_current:
        low = high = None  # only a look has an interval
    about: About = fit.about if isinstance(fit, Fit) else "these"
    judged = replace(found, runner_up=rival, margin=finite_or_none(margin), scale=fit.scale, about=about)
    if fit.exact:
        remark = "rewards do not vary within arms and environments, so no probability can be computed"
        return replace(judged, remarks=(remark,))
    return replace(judged, low=low, high=high, chance=lambda: fit.p_best[arm])


def _left_out(fit: Fit) -> tuple[str, ...]:
    """Return the names of the outlying arm-by-environment cells that the fit excluded, most extreme first.

    Only a fit with `robust="cells"` excludes cells.
    """
    table = () if fit.left_out is None else fit.left_out.table
    return tuple(f"{quote_if_needed(row['arm'])} in {row['environment']!r}" for row in table)


def fit_options(spec: PolicySpec) -> list[dict[str, Any]]:
    """List the sets of fit options that correspond to a policy's noise model, the preferred one first.

    >>> from tideproof.policies.policy_registry import policy
    >>> [each["variance"] for each in fit_options(policy("contrast", noise="by-arm", interaction="auto"))]
    ['interaction+by-arm', 'interaction']
    >>> fit_options(policy("contrast", robust="cells")), fit_options(policy("contrast"))
    ([{'scale': 'difference', 'robust': 'cells'}], [])
    """
    tide = spec.policy.tide
    if tide not in NOISE_MODELS:
        return []
    if tide == ROBUST:
        return [{"scale": "difference", "robust": "cells"}]
    words: tuple[str, ...] = ("interaction",)
    if tide.startswith(NOISES["by-arm"]):
        words = ("by-arm",) if tide == NOISES["by-arm"] else ("interaction+by-arm", "interaction")
    return [
        {"scale": "difference", "variance": word, "about": "similar" if word in ABOUT_SIMILAR else "these"}
        for word in words
    ]
