"""Which arms can be the best: multiple comparisons with the best, with a known error rate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tideproof.core.array_layout import Floats, Ints
from tideproof.stats.best.student_inference import (
    chance_below,
    critical_values,
    normal_quantile,
    pair_variances,
)
from tideproof.stats.pairs.skewed_tails import normal_from_student, student_from_normal

_MANY = 500  # arms, beyond which not all get a close look
_FAR = 1.5  # deviates below the bar, from which standard errors are trusted
_RIVALS = 3  # of each arm that are looked at closely: those that tell most against it


class Pairs(Protocol):
    """Tests and limits of theta_i - theta_k, whatever the scale."""

    @property
    def quick(self) -> bool:
        """Whether many pairs take little longer than a few."""
        return False

    def gap(self, i: int, k: int) -> float:
        """Return the estimate."""

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return a standard normal number if theta_i - theta_k = gap; high if it is more."""

    def enough(self, i: int, k: int) -> bool:
        """Return whether there is enough of two arms for a test to exclude one of them."""

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the gap that theta_i - theta_k does not exceed: there the deviate has fallen to -z."""

    def lower(self, i: int, k: int, z: float) -> float:
        """Return the gap that theta_i - theta_k is not below."""
        return -self.upper(k, i, z)

    def deviates(self, i: Ints, k: Ints) -> Floats:
        """Return the deviates of many pairs at a gap of 0."""
        return np.array([self.deviate(*pair) for pair in zip(i.tolist(), k.tolist(), strict=True)])

    def uppers(self, i: Ints, k: Ints, z: Floats) -> Floats:
        """Return the upper limits of many pairs."""
        each = zip(i.tolist(), k.tolist(), z.tolist(), strict=True)
        return np.array([self.upper(*pair) for pair in each])


class Turned(Pairs):
    """Pairs with a low value being good: the arms of each change places."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs

    @property
    def quick(self) -> bool:
        """Whether many pairs take little longer than a few."""
        return self._pairs.quick

    def gap(self, i: int, k: int) -> float:
        """Return the estimate."""
        return self._pairs.gap(k, i)

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return a standard normal number if theta_k - theta_i = gap; high if it is more."""
        return self._pairs.deviate(k, i, gap)

    def enough(self, i: int, k: int) -> bool:
        """Return whether there is enough of two arms for a test to exclude one of them."""
        return self._pairs.enough(i, k)

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the gap that theta_k - theta_i does not exceed."""
        return self._pairs.upper(k, i, z)

    def deviates(self, i: Ints, k: Ints) -> Floats:
        """Return the deviates of many pairs at a gap of 0."""
        return self._pairs.deviates(k, i)

    def uppers(self, i: Ints, k: Ints, z: Floats) -> Floats:
        """Return the upper limits of many pairs."""
        return self._pairs.uppers(k, i, z)


@dataclass(frozen=True, eq=False)
class Field:
    """Connected arms that are compared with the best of them; the highest value is the best.

    Attributes
    ----------
    pairs : tests of each against each, by their numbers in `arms`.
    arms : (k,) the arms.
    mu, covariance : (k,), (k, k) their values and covariance, which say who is worth a close look, and how
        tests of one arm against several hang together.
    freedom : (k,) degrees of freedom of the comparisons with each arm.
    level : probability that all statements hold.
    always : (k, k) deviates of each pair that are not exceeded at any look; None if there is one look only.
    """

    pairs: Pairs
    arms: Ints
    mu: Floats
    covariance: Floats
    freedom: Floats
    level: float
    always: Floats | None = None

    @property
    def size(self) -> int:
        """The number of arms."""
        return self.mu.size

    @property
    def one_sided(self) -> float:
        """The level of one-sided statements: of two arms either may be excluded, both sides count."""
        return self.level if self.size > 2 else 0.5 + 0.5 * self.level

    @property
    def known(self) -> bool:
        """Whether anything is known of the noise."""
        return bool(np.all(np.isfinite(self.covariance)) and np.all(self.freedom > 0.0))

    @property
    def all_closely(self) -> bool:
        """Whether all arms get a close look: they are not many, or that is quick."""
        return self.size <= _MANY or self.pairs.quick

    @cached_property
    def se(self) -> Floats:
        """(k, k) standard error of each difference."""
        return np.asarray(np.sqrt(np.maximum(pair_variances(self.covariance), 0.0)))

    def rivals(self, i: int) -> list[int]:
        """Return the arms that tell most against arm i: by value and standard error, the first first."""
        with np.errstate(divide="ignore", invalid="ignore"):
            above = (self.mu - self.mu[i]) / self.se[i]
        above[np.isnan(above)] = 0.0
        above[i] = -np.inf
        few = min(_RIVALS if self.all_closely else 1, self.size - 1)
        return [int(r) for r in np.argsort(-above, kind="stable")[:few]]

    def bars(self, which: Ints) -> Floats:
        """Return the deviates above which arm k excludes arm i of these: (k, k); Dunnett's for one look."""
        if self.always is not None:
            return self.always
        d = critical_values(self.covariance, self.freedom, self.one_sided, which)
        found = np.full(self.size, np.nan)
        found[which] = [normal_from_student(d[i], self.freedom[i]) for i in which.tolist()]
        return np.broadcast_to(found[:, None], (self.size, self.size))


class Comparisons(NamedTuple):
    """How far each arm is above the best of the others, all intervals true at once.

    Attributes
    ----------
    estimate : (K,) theta_i - max_{k != i} theta_k.
    low, high : (K,) simultaneous limits of it; one of them is 0 unless the data leave open on which side the
        arm is.
    candidate : (K,) whether the arm may be the best: it leads, or its upper limit is above 0.
    """

    estimate: Floats
    low: Floats
    high: Floats
    candidate: NDArray[np.bool_]


def may_be_best(field: Field) -> NDArray[np.bool_]:
    """Return which arms cannot be excluded: (k,). The best is among them with the field's level at least.

    Arm i is excluded if the deviate of some other arm above it exceeds its bar. That is worked out only for
    arms between what a single comparison and what Bonferroni would ask for.
    """
    candidate = np.ones(field.size, bool)
    if not field.known:
        return candidate
    if field.always is not None:
        return _never_excluded(field, field.always)
    single = normal_quantile(field.one_sided)
    most = normal_quantile(1.0 - (1.0 - field.one_sided) / (field.size - 1))
    against = _roughly(field, most)
    close = np.flatnonzero(np.isnan(against)).tolist()
    against[close] = -np.inf
    looked = [
        (r, i) for i in close for r in field.rivals(i) if field.pairs.enough(*field.arms[[r, i]].tolist())
    ]
    if looked:
        rival, own = np.array(looked).T
        deviates = field.pairs.deviates(field.arms[rival], field.arms[own])
        with np.errstate(invalid="ignore"):  # a NaN says nothing
            np.fmax.at(against, own, deviates)
    against[field.mu == field.mu.max()] = -np.inf  # who leads always may
    candidate = against <= most
    unsure = np.flatnonzero((against > single) & candidate)
    if unsure.size:
        t = np.array([student_from_normal(z, nu) for z, nu in zip(against, field.freedom, strict=True)])
        chance = chance_below(field.covariance, field.freedom, t, unsure)
        candidate[unsure] = chance[unsure] <= field.one_sided
    return candidate


def _never_excluded(field: Field, bars: Floats) -> NDArray[np.bool_]:
    """Return which arms no other exceeds by more than the bar of the pair."""
    arms, leader = field.arms.tolist(), int(np.argmax(field.mu))
    behind = _roughly(field, bars[leader])
    candidate: NDArray[np.bool_] = ~(behind > bars[leader])
    for i in np.flatnonzero(np.isnan(behind)).tolist():
        rivals = (r for r in field.rivals(i) if field.pairs.enough(arms[r], arms[i]))
        candidate[i] = not any(field.pairs.deviate(arms[r], arms[i]) > bars[r, i] for r in rivals)
    candidate[field.mu == field.mu.max()] = True  # who leads always may
    return candidate


def _roughly(field: Field, bar: float | Floats) -> Floats:
    """Return how far arms are behind the leader, in standard errors, of many arms those far from the bar.

    NaN for those that deserve a close look: all, if they are not many or it is quick.
    """
    if field.all_closely:
        return np.full(field.size, np.nan)
    leader = int(np.argmax(field.mu))
    with np.errstate(divide="ignore", invalid="ignore"):
        behind = (field.mu[leader] - field.mu) / field.se[leader]
    behind[leader] = 0.0
    close = (behind > bar - _FAR) & (behind < 2.0 * bar + _FAR)
    return np.where(close, np.nan, behind)


def compare_with_best(field: Field, candidate: NDArray[np.bool_] | None = None) -> Comparisons:
    """Compare each arm with the best of the others.

    With z_i the bar of arm i (Dunnett's constant with arm i as the control) its upper limit is max(0, min_k
    of the upper limits of theta_i - theta_k at z_i). Arms with a positive one are candidates, among them the
    best with probability `level` at least: that event is Dunnett's for the best arm as the control, and on
    it the lower limits, min over the other candidates k of those of theta_i - theta_k at z_k, hold too.
    With two arms both sides are counted. What is known of `candidate` need not be found again. Of many arms
    whose pairs are not quick, those that are no candidates have their lower limits from standard errors,
    as much further away as makes `may_be_best` trust these.

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
    with np.errstate(invalid="ignore"):  # no event yet: no noise to be seen, and no bar
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
        uppers, high[left] = pairs.uppers(arms[own], arms[rival], bar[own, rival]), np.inf
        with np.errstate(invalid="ignore"):
            np.minimum.at(high, own, uppers)
            high = np.fmax(high, 0.0)  # 0 where nothing is known
    if lows:
        own, rival = np.array(lows).T
        lowers = -pairs.uppers(arms[rival], arms[own], bar[rival, own])
        with np.errstate(invalid="ignore"):
            np.fmin.at(low, own, lowers)
    return Comparisons(estimate, low, high, candidate)
