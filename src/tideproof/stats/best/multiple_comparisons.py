"""Multiple comparisons: which arms can be the best, and by how much arms differ.

Critical values are larger after adaptive runs.

Multiple comparisons with the best name the arms that can be the best. Intervals of two arms are widened after
selection of the leading arm.

After an adaptive run the estimated difference of two arms varies by more than its standard error says: an arm
that begins badly is played less and cannot recover. In the least favourable simulated worlds, where two arms
nearly tie for the best, the 80, 90, 95 and 99 % quantiles of the absolute z-score all exceed the normal ones
by about the same number of standard errors. That number grows with the number of arms and hardly depends on
the budget or on the lengths of environments. `benchmarks/ends.py` measured it, and `_MEASURED_ALLOWANCES`
holds it; with two and three arms, Thompson sampling of whole days needs more than the policies measured there
and decides. Intervals are widened by it, and an arm is excluded as the best only beyond it.
`final_interval_coverage.py` and `adaptive_calibration.py` measure the resulting coverage in other worlds.

The selected arm and its runner-up were both played to the end, so their difference behaves as if there were
no other arms. But the runner-up is selected, too, with or without adaptive allocation: the distance to it is
the minimum of K - 1 positively correlated differences. Treating these as independent is conservative (Slepian
1962).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.best.student_inference import (
    dunnett_constants,
    dunnett_probabilities,
    normal_from_student,
    normal_quantile,
    normal_tail,
    pair_variances,
    student_from_normal,
)

MOST_DETAILED_ARMS = 500  # With more arms, not all pairs are tested in detail.
_FAR = 1.5  # Distance from the critical value at which standard errors suffice.
_RIVALS = 3  # Number of strongest rivals tested in detail for each arm.
# (number of arms, standard errors)
_MEASURED_ALLOWANCES = ((2, 0.4), (3, 0.5), (5, 0.57), (10, 0.66), (30, 1.0))


class Pairs(Protocol):
    """Interface of tests and confidence bounds for the difference between the effects of any two arms.

    The effects may be on any scale; on those of ratios and odds they are logarithms.
    """

    @property
    def quick(self) -> bool:
        """True if testing many pairs of arms takes little longer than testing a few."""
        return False

    def gap(self, i: int, k: int) -> float:
        """Return the estimated effect of arm i minus that of arm k, theta_i - theta_k."""

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the z-score for testing that arm i's effect minus arm k's is `gap`.

        It is positive if the difference is larger.
        """

    def enough(self, i: int, k: int) -> bool:
        """Return whether two arms have enough rewards to conclude from a test that one is not the best."""

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the upper confidence bound of arm i's effect minus arm k's, theta_i - theta_k.

        It is the value of `gap` at which `deviate` returns -z.
        """

    def lower(self, i: int, k: int, z: float) -> float:
        """Return the lower confidence bound of arm i's effect minus arm k's, theta_i - theta_k."""
        return -self.upper(k, i, z)

    def deviates(self, i: Ints, k: Ints) -> Floats:
        """Return the z-scores of many pairs of arms for the hypothesis of no difference."""
        return np.array([self.deviate(*pair) for pair in zip(i.tolist(), k.tolist(), strict=True)])

    def uppers(self, i: Ints, k: Ints, z: Floats) -> Floats:
        """Return the upper confidence bounds of the differences of many pairs of arms."""
        each = zip(i.tolist(), k.tolist(), z.tolist(), strict=True)
        return np.array([self.upper(*pair) for pair in each])


class ReversedPairs(Pairs):
    """Tests of pairs of arms with the two arms exchanged, for rewards where a low value is good."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs

    @property
    def quick(self) -> bool:
        """True if testing many pairs of arms takes little longer than testing a few."""
        return self._pairs.quick

    def gap(self, i: int, k: int) -> float:
        """Return the estimated effect of arm k minus that of arm i, theta_k - theta_i."""
        return self._pairs.gap(k, i)

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the z-score for testing that arm k's effect minus arm i's is `gap`.

        It is positive if the difference is larger.
        """
        return self._pairs.deviate(k, i, gap)

    def enough(self, i: int, k: int) -> bool:
        """Return whether two arms have enough rewards to conclude from a test that one is not the best."""
        return self._pairs.enough(i, k)

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the upper confidence bound of arm k's effect minus arm i's, theta_k - theta_i."""
        return self._pairs.upper(k, i, z)

    def deviates(self, i: Ints, k: Ints) -> Floats:
        """Return the z-scores of many pairs of arms for the hypothesis of no difference."""
        return self._pairs.deviates(k, i)

    def uppers(self, i: Ints, k: Ints, z: Floats) -> Floats:
        """Return the upper confidence bounds of the differences of many pairs of arms."""
        return self._pairs.uppers(k, i, z)


@dataclass(frozen=True, eq=False)
class ArmGroup:
    """Group of comparable arms, each of which is compared with the best arm of the group.

    The best arm is the one with the highest value.

    Attributes
    ----------
    pairs : tests of each pair of arms, by their numbers in `arms`.
    arms : (k,) index of each arm.
    mu, covariance : (k,) values and (k, k) covariance. They decide which pairs are tested in detail, and how
        the tests of one arm against several are correlated.
    freedom : (k,) degrees of freedom of the comparisons with each arm.
    confidence : confidence level of all statements together.
    always : (k, k) critical z-scores that hold at all looks, with a row for each arm that may be excluded and
        a column for each other arm; None if there is only one look.
    allowance : standard errors to add to the critical z-scores of one look after an adaptive run.
    """

    pairs: Pairs
    arms: Ints
    mu: Floats
    covariance: Floats
    freedom: Floats
    confidence: float
    always: Floats | None = None
    allowance: float = 0.0

    @property
    def size(self) -> int:
        """Number of arms."""
        return self.mu.size

    @property
    def error_share(self) -> float:
        """Share of the error probability for comparisons with one arm: half of it if there are two arms.

        Both of two arms may be excluded as the best.
        """
        return 1.0 if self.size > 2 else 0.5

    @property
    def one_sided(self) -> float:
        """Confidence level of one-sided comparisons with the best arm."""
        return 1.0 - (1.0 - self.confidence) * self.error_share

    @property
    def least(self) -> float:
        """Smallest critical z-score of a comparison: that of a two-sided interval of two arms.

        Thus the interval that is shown for two arms excludes 0 if and only if one of them is excluded.
        """
        return normal_quantile(0.5 + 0.5 * self.confidence) + self.allowance

    @property
    def known(self) -> bool:
        """True if the variance of the noise could be estimated for all arms."""
        return bool(np.all(np.isfinite(self.covariance)) and np.all(self.freedom > 0.0))

    @property
    def all_closely(self) -> bool:
        """True if all arms are compared by the more accurate test, without a quick approximation first.

        This is so if there are few arms, or if the test is quick.
        """
        return self.size <= MOST_DETAILED_ARMS or self.pairs.quick

    @cached_property
    def se(self) -> Floats:
        """Standard error of the difference between each pair of arms: (k, k)."""
        return np.asarray(np.sqrt(np.maximum(pair_variances(self.covariance), 0.0)))

    def rivals(self, i: int) -> list[int]:
        """Return the arms with the largest z-scores against arm i, in descending order."""
        with np.errstate(divide="ignore", invalid="ignore"):
            above = (self.mu - self.mu[i]) / self.se[i]
        above[np.isnan(above)] = 0.0
        above[i] = -np.inf
        few = min(_RIVALS if self.all_closely else 1, self.size - 1)
        return [int(r) for r in np.argsort(-above, kind="stable")[:few]]

    def bars(self, which: Ints) -> Floats:
        """Return the critical z-score of each comparison of one arm with another: (k, k).

        Each row belongs to an arm that may be excluded; for a single look they are Dunnett's constants plus
        the allowance, at least `least`, and NaN for arms that are not in `which`.
        """
        if self.always is not None:
            return self.always
        d = dunnett_constants(self.covariance, self.freedom, self.one_sided, which)
        found = np.full(self.size, np.nan)
        constants = [normal_from_student(d[i], self.freedom[i]) for i in which.tolist()]
        found[which] = np.maximum(np.array(constants) + self.allowance, self.least)
        return np.broadcast_to(found[:, None], (self.size, self.size))


class Comparisons(NamedTuple):
    """Difference between each arm and the best of the others, with simultaneous confidence intervals.

    Attributes
    ----------
    estimate : (K,) theta_i - max_{k != i} theta_k.
    low, high : (K,) simultaneous confidence bounds; one of them is 0 unless the sign is undecided. NaN if
        unknown.
    candidate : (K,) whether the arm may be the best: it leads, or its upper bound is above 0.
    """

    estimate: Floats
    low: Floats
    high: Floats
    candidate: NDArray[np.bool_]


def may_be_best(field: ArmGroup) -> NDArray[np.bool_]:
    """Return a mask of the arms that cannot be excluded as the best: (k,).

    The best arm is among them with probability `field.confidence` at least. Arm i is excluded if the z-score
    of another arm above it exceeds the critical value of arm i.
    """
    candidate = np.ones(field.size, bool)
    if not field.known:
        return candidate
    if field.always is not None:
        return _never_excluded(field, field.always)
    most = _largest_bar(field)
    against = _roughly(field, most)
    close = np.flatnonzero(np.isnan(against)).tolist()
    against[close] = -np.inf
    looked = [
        (r, i) for i in close for r in field.rivals(i) if field.pairs.enough(*field.arms[[r, i]].tolist())
    ]
    if looked:
        rival, own = np.array(looked).T
        deviates = field.pairs.deviates(field.arms[rival], field.arms[own])
        with np.errstate(invalid="ignore"):  # NaN: no evidence
            np.fmax.at(against, own, deviates)
    against[field.mu == field.mu.max()] = -np.inf  # The leader is always a candidate.
    return ~_beyond_bars(field, against, most)


def beaten_by_leader(field: ArmGroup) -> NDArray[np.bool_]:
    """Return a mask of the arms over which the leader's interval excludes 0: (k,).

    If these are all other arms, the leader is the winner.
    """
    beaten = np.zeros(field.size, bool)
    if not field.known:
        return beaten
    leader = int(np.argmax(field.mu))
    most: float | Floats = _largest_bar(field) if field.always is None else field.always[:, leader]
    lead = _roughly(field, most)
    arms = field.arms.tolist()
    close = [
        i for i in np.flatnonzero(np.isnan(lead)).tolist()
        if i != leader and field.pairs.enough(arms[leader], arms[i])
    ]  # fmt: skip
    lead[np.isnan(lead)] = -np.inf
    if close:
        found = field.pairs.deviates(np.full(len(close), arms[leader]), field.arms[close])
        lead[close] = np.where(np.isnan(found), -np.inf, found)
    lead[leader] = -np.inf
    if field.always is not None:
        return np.asarray(lead > field.always[:, leader])
    return _beyond_bars(field, lead, float(most))


def _largest_bar(field: ArmGroup) -> float:
    """Return the largest critical z-score of a comparison with the best arm (Bonferroni's)."""
    return normal_quantile(1.0 - (1.0 - field.one_sided) / (field.size - 1)) + field.allowance


def _beyond_bars(field: ArmGroup, against: Floats, most: float) -> NDArray[np.bool_]:
    """Return a mask of the arms whose z-score is beyond their critical one; `most` is the largest of these.

    The exact critical value is computed only for z-scores between the smallest and the largest one.
    """
    beyond = against > most
    unsure = np.flatnonzero((against > field.least) & ~beyond)
    if unsure.size:
        t = np.array(
            [
                student_from_normal(z, nu)
                for z, nu in zip(against - field.allowance, field.freedom, strict=True)
            ]
        )
        chance = dunnett_probabilities(field.covariance, field.freedom, t, unsure)
        beyond[unsure] = chance[unsure] > field.one_sided
    return beyond


def lead_critical_values(field: ArmGroup, leader: int, others: Ints) -> tuple[Floats, Floats]:
    """Return the critical z-scores of the lower and of the upper bounds of a leader's leads over other arms.

    At the lower bound the other arm would just be excluded as the best, and at the upper bound the leader.
    """
    bars = field.bars(np.append(others, leader))
    return bars[others, leader], bars[leader, others]


def lead_p_values(field: ArmGroup, leader: int, others: Ints, deviates: Floats) -> Floats:
    """Return two-sided p-values of a leader's leads over other arms, given their z-scores.

    A p-value is 1 minus the confidence level at which a bound of the interval with the critical values of
    `lead_critical_values` is exactly 0.
    """
    away = np.abs(deviates) - field.allowance
    worse = np.where(deviates > 0.0, others, leader)
    found = np.where(np.isnan(deviates), np.nan, 1.0)
    for n in np.flatnonzero(away > 0.0).tolist():
        arm, z = int(worse[n]), float(away[n])
        t = np.full(field.size, student_from_normal(z, float(field.freedom[arm])))
        chance = dunnett_probabilities(field.covariance, field.freedom, t, np.array([arm]))[arm]
        one = normal_tail(z)
        # Bonferroni's bound holds even if arms differ by less than rounding
        beyond = min(1.0 - float(chance), (field.size - 1) * one)
        found[n] = min(1.0, max(2.0 * one, beyond / field.error_share))
    return found


def _never_excluded(field: ArmGroup, bars: Floats) -> NDArray[np.bool_]:
    """Return a mask of the arms that cannot be excluded as the best, given critical z-scores of all pairs.

    An arm is excluded if another arm exceeds it by more than the critical z-score of the pair.
    """
    arms, leader = field.arms.tolist(), int(np.argmax(field.mu))
    behind = _roughly(field, bars[:, leader])
    candidate: NDArray[np.bool_] = ~(behind > bars[:, leader])
    for i in np.flatnonzero(np.isnan(behind)).tolist():
        rivals = (r for r in field.rivals(i) if field.pairs.enough(arms[r], arms[i]))
        candidate[i] = not any(field.pairs.deviate(arms[r], arms[i]) > bars[i, r] for r in rivals)
    candidate[field.mu == field.mu.max()] = True  # The leader is always a candidate.
    return candidate


def _roughly(field: ArmGroup, bar: float | Floats) -> Floats:
    """Return approximate z-scores of the leading arm's lead over each other arm.

    They are NaN where a slower, more accurate test is needed.

    All arms are tested in detail if there are few or if the tests are quick; otherwise those near the
    critical value `bar`.
    """
    if field.all_closely:
        return np.full(field.size, np.nan)
    leader = int(np.argmax(field.mu))
    with np.errstate(divide="ignore", invalid="ignore"):
        behind = (field.mu[leader] - field.mu) / field.se[leader]
    behind[leader] = 0.0
    close = (behind > bar - _FAR) & (behind < 2.0 * bar + _FAR)
    return np.where(close, np.nan, behind)


def compare_with_best(field: ArmGroup, candidate: NDArray[np.bool_] | None = None) -> Comparisons:
    """Compare each arm with the best of the others, with simultaneous confidence intervals (Hsu's method).

    Let z_i be the critical value of arm i: Dunnett's constant with arm i as the control. The upper bound of
    arm i is max(0, min_k of the upper bounds of theta_i - theta_k at z_i). Arms with a positive upper bound
    are the candidates. They include the best arm with probability `confidence` at least, which is Dunnett's
    event with the best arm as the control. On that event the lower bounds hold, too: the minimum over the
    other candidates k of the lower bounds of theta_i - theta_k at z_k. With two arms both sides are counted.

    Pass `candidate` if it is known already. With many arms and slow tests, arms that are not candidates get
    lower bounds from standard errors, widened by the same margin that `may_be_best` uses.

    References
    ----------
    Hsu (1984), Constrained simultaneous confidence intervals for multiple comparisons with the best;
    Hsu (1996), Multiple Comparisons, section 7.3, for unequal covariances.
    """
    pairs, arms, k = field.pairs, field.arms, field.size
    order = np.argsort(-field.mu, kind="stable")
    best = np.where(np.arange(k) == order[0], order[1], order[0])
    estimate = np.array([pairs.gap(*pair) for pair in zip(arms.tolist(), arms[best].tolist(), strict=True)])
    candidate = may_be_best(field) if candidate is None else candidate
    if not field.known:
        unknown = np.full(k, np.nan)
        return Comparisons(estimate, unknown, unknown, candidate)
    left = np.flatnonzero(candidate)
    bar, low, high = field.bars(left), np.zeros(k), np.zeros(k)
    highs: list[tuple[int, int]] = []
    lows: list[tuple[int, int]] = []
    with np.errstate(invalid="ignore"):  # before the first event the variance is 0
        reach = bar * field.se
    for i in range(k):
        others, gap = np.delete(np.arange(k), i), field.mu[i] - field.mu
        if candidate[i]:
            highest = np.argsort((gap + reach[i])[others], kind="stable")
            highs += [(i, r) for r in others[highest[:_RIVALS]].tolist()]
        others = left[left != i]
        lowest = (gap - reach[:, i])[others]
        if not field.all_closely and not candidate[i]:
            low[i] = min(0.0, float((gap - reach[:, i] - _FAR * field.se[i])[others].min()))
            continue
        lows += [(i, r) for r in others[np.argsort(lowest, kind="stable")[:_RIVALS]].tolist()]
    if highs:
        own, rival = np.array(highs).T
        uppers = pairs.uppers(arms[own], arms[rival], bar[own, rival])
        high[left] = np.nan  # unknown, unless the bound over another arm is known
        with np.errstate(invalid="ignore"):
            np.fmin.at(high, own, uppers)
            high = np.maximum(high, 0.0)
    if lows:
        own, rival = np.array(lows).T
        lowers = -pairs.uppers(arms[rival], arms[own], bar[rival, own])
        with np.errstate(invalid="ignore"):
            np.minimum.at(low, own, lowers)  # unknown, if it is unknown over any other arm
    return Comparisons(estimate, low, high, candidate)


def allowance(arms: int) -> float:
    """Return how many standard errors to add to confidence intervals after an adaptive experiment.

    It is interpolated, and beyond the table extrapolated, linearly in the logarithm of the number of arms.

    >>> [round(allowance(arms), 2) for arms in (2, 3, 4, 5, 10, 30, 90)]
    [0.4, 0.5, 0.54, 0.57, 0.66, 1.0, 1.34]
    """
    later = next(
        (index for index, (n, _) in enumerate(_MEASURED_ALLOWANCES) if n >= arms),
        len(_MEASURED_ALLOWANCES) - 1,
    )
    (n, low), (m, high) = _MEASURED_ALLOWANCES[max(later - 1, 0)], _MEASURED_ALLOWANCES[max(later, 1)]
    return low + (high - low) * math.log(arms / n) / math.log(m / n)


def critical_deviate(confidence: float, arms: int, *, adaptive: bool, picked: bool = False) -> float:
    """Return the half-width of a confidence interval for the difference of two arms, in standard errors.

    It is a normal z-score. `adaptive` means that a policy chose pulls by rewards. `picked` means that the two
    arms are the selected arm and its runner-up.

    >>> [round(critical_deviate(0.95, arms, adaptive=False, picked=True), 2) for arms in (3, 5, 10)]
    [1.96, 2.23, 2.53]
    """
    usual = normal_quantile(0.5 + 0.5 * confidence)
    if adaptive:
        usual += allowance(2 if picked else arms)
    return max(usual, normal_quantile(confidence ** (1.0 / (arms - 1)))) if picked else usual


def p_value(deviate: float, arms: int, *, adaptive: bool, picked: bool = False) -> float:
    """Return the two-sided p-value of a difference of two arms, given its z-score `deviate`.

    `adaptive` and `picked` are those of `critical_deviate`. The p-value is 1 minus the confidence level at
    which a bound of the interval from that function is exactly 0.

    >>> round(p_value(critical_deviate(0.9, 5, adaptive=True, picked=True), 5, adaptive=True, picked=True), 9)
    0.1
    """
    away = abs(deviate)
    p = 2.0 * normal_tail(max(0.0, away - allowance(2 if picked else arms)) if adaptive else away)
    return max(p, -math.expm1((arms - 1) * math.log1p(-normal_tail(away)))) if picked else p
