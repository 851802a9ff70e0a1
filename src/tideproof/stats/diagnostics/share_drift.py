"""Counts of the pulls of each arm by environment, and a test for changes of the arms' shares of them.

The counts also tell environments from which an arm was left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.best.student_inference import deviate, normal_tail
from tideproof.stats.cells import Cells, UnitRewards, sum_by_index

CHANCE_GAP = 0.001  # an absence of an arm that is less probable than this is not explained by chance


class ShareDrift(NamedTuple):
    """Result of testing whether the arms' shares of the pulls are the same in all environments."""

    chi2: float
    df: int
    p: float


def share_drift(c: Cells) -> ShareDrift:
    """Test whether the arms' shares of the traffic are the same in all environments.

    Each unit counts once. Leaving an arm out of whole environments does not count as a change.
    """
    return traffic_drift(count_traffic(c))


def traffic_drift(traffic: TrafficCounts) -> ShareDrift:
    """Test the homogeneity of counts by arm and environment, within each set of available arms.

    The statistic is Pearson's. Its mean and variance are those over all tables with the same margins, and
    its tail is that of a shifted gamma distribution with these moments and an approximate third moment: in
    small environments a chi-squared distribution has another variance and skewness.

    References
    ----------
    Haldane (1940), The mean and variance of chi-squared, when used as a test of homogeneity, when
    expectations are small. Biometrika 31, 346-355.
    """
    choices = traffic.choices
    sets, K, sizes = len(choices.available), traffic.K, traffic.sizes
    of = choices.of[traffic.environment]
    totals = sum_by_index(of * K + traffic.arm, traffic.n, sets * K)
    N = sum_by_index(of, traffic.n, sets)
    terms = traffic.n**2 / sizes[traffic.environment] / totals[of * K + traffic.arm]
    statistic = N * (sum_by_index(of, terms, sets) - 1.0)

    rows, columns = _margin(choices.of, sizes, N), _margin(np.repeat(np.arange(sets), K), totals, N)
    used = (N > 3.0) & (rows.number > 1.0) & (columns.number > 1.0)
    N, rows, columns = N[used], _Margin(*(x[used] for x in rows)), _Margin(*(x[used] for x in columns))
    free = (rows.number - 1.0) * (columns.number - 1.0)
    uneven = N**2 / (N - 1.0) * rows.unevenness * columns.unevenness
    variance = 2.0 * N / (N - 3.0) * rows.freedom * columns.freedom + uneven
    third = 8.0 * rows.triples * columns.triples + 4.0 * N * rows.rarity * columns.rarity + 18.0 * uneven
    chi2, df = float(np.sum(statistic[used])), int(np.sum(free))
    excess, spread = chi2 - float(np.sum(N / (N - 1.0) * free)), float(np.sum(variance))
    if spread <= 1e-9 * df:  # every table with these margins has the same statistic, up to rounding
        return ShareDrift(chi2, df, 1.0)
    return ShareDrift(chi2, df, normal_tail(deviate(excess, spread, float(np.sum(third)))))


class _Margin(NamedTuple):
    """Row or column totals of several tables of counts by arm and environment.

    Attributes
    ----------
    number : number of nonzero totals.
    unevenness, freedom : Haldane's terms of the variance.
    triples, rarity : terms of the third moment. Given the margins, the statistic is about a sum of
        n (n - 1) - 2 e n + e^2 over e for Poisson numbers n with mean e, whose third moment is 8 + 4 / e.
        `triples` reduces the first term for totals so small that they allow few triples, and `rarity` the
        second one for totals so small that they allow few pairs.
    """

    number: Floats
    unevenness: Floats
    freedom: Floats
    triples: Floats
    rarity: Floats


def _margin(of: Ints, n: Floats, N: Floats) -> _Margin:
    """Return sums computed from the row or column totals `n` of each table of counts."""
    of, n = of[n > 0.0], n[n > 0.0]
    number, inverse, triples, rarity = (
        sum_by_index(of, x, N.size)
        for x in (
            np.ones(n.size),
            1.0 / n,
            (1.0 - 1.0 / n) * (1.0 - 2.0 / n),
            (1.0 - n / N[of]) ** 3 * (1.0 - 1.0 / n) / n,
        )
    )
    unevenness = (N * inverse - number**2) / np.maximum(N - 2.0, 1.0)
    freedom = (number - 1.0) * (N - number) / np.maximum(N - 1.0, 1.0) - unevenness
    return _Margin(number, unevenness, freedom, np.maximum(triples - 1.0, 0.0), np.maximum(rarity, 0.0))


@dataclass(frozen=True, eq=False)
class TrafficCounts:
    """Numbers of independent assignments by arm and environment: rows, or units where units are known.

    Attributes
    ----------
    K, J : number of arms and of environments.
    arm, environment, n : arm, environment and number of assignments of each cell that has any.
    per_unit : number of assignments that a unit is worth; 1 unless units saw several arms in their first
        environment, where they count in parts.
    """

    K: int
    J: int
    arm: Ints
    environment: Ints
    n: Floats
    per_unit: float = 1.0

    @cached_property
    def by_arm(self) -> Floats:
        """Number of assignments of each arm: (K,)."""
        return sum_by_index(self.arm, self.n, self.K)

    @cached_property
    def sizes(self) -> Floats:
        """Number of assignments in each environment: (J,)."""
        return sum_by_index(self.environment, self.n, self.J)

    @cached_property
    def choices(self) -> Choices:
        """The sets of arms that could be assigned, and the environments of each set."""
        return _find_choices(self)


@dataclass(frozen=True, eq=False)
class Choices:
    """Distinct sets of arms that could be assigned in some environment.

    Attributes
    ----------
    of : (J,) index of each environment's set.
    available : (sets, K) whether each arm belongs to each set.
    """

    of: Ints
    available: NDArray[np.bool_]

    def shares(self, share: Floats) -> Floats:
        """Return the share of each arm within each set, given its share among all arms: (sets, K)."""
        within = np.where(self.available, share, 0.0)
        return np.asarray(within / np.maximum(within.sum(axis=1, keepdims=True), np.finfo(float).tiny))

    @property
    def left_out(self) -> Ints:
        """Number of environments from which each arm was left out: (K,)."""
        count = np.bincount(self.of, minlength=len(self.available))
        return np.asarray(count @ ~self.available, np.int64)


def count_traffic(c: Cells) -> TrafficCounts:
    """Count rewards by arm and environment; each unit counts once if units are known.

    Aggregated rows are units of the noise, but it is their rewards that were assigned.
    """
    if c.units is None or c.units.rows:
        return TrafficCounts(c.K, c.J, c.arm, c.environment, c.n)
    n, per_unit = _count_units(c, c.units)
    seen = n > 0.0
    return TrafficCounts(c.K, c.J, c.arm[seen], c.environment[seen], per_unit * n[seen], per_unit)


def _count_units(c: Cells, units: UnitRewards) -> tuple[Floats, float]:
    """Return the number of units by cell, each in its first environment, and the assignments per unit.

    A unit that saw several arms there counts in parts, x, that add up to 1. It then tells more than one
    assignment. With Cov(x) = dispersion (diag p - p p'), the expectation of 1 - sum x^2 is
    (1 - dispersion) (1 - sum p^2), from which the dispersion is estimated. It is 1 if every unit has one arm,
    and about one over the number of rows of a unit if each row was assigned by itself. The number of
    assignments per unit is its inverse, but not more than the number of rows.
    """
    environment = c.environment[units.cell]
    first = np.full(int(units.unit.max(initial=-1)) + 1, c.J)
    np.minimum.at(first, units.unit, environment)
    at = environment == first[units.unit]
    unit, cell, rows = units.unit[at], units.cell[at], units.n[at]
    part = rows / sum_by_index(unit, rows, first.size)[unit]
    n = sum_by_index(cell, part, c.n.size)
    number = float(np.count_nonzero(first < c.J))
    mixed = 1.0 - float(np.sum(part**2)) / number
    if mixed < 1e-12:
        return np.round(n), 1.0
    possible = 1.0 - float(np.sum((c.by_arm(n) / number) ** 2))
    dispersion = max(1.0 - mixed / possible, number / float(np.sum(rows)))
    return n, 1.0 / dispersion


def _find_choices(traffic: TrafficCounts) -> Choices:
    """Find the environments from which arms were left out, by the lengths of the arms' absences.

    If an arm with n of N assignments could be assigned everywhere, with the same share, all orders of the
    assignments are equally probable. Then it is absent from M given ones in a row with a probability of at
    most (1 - M/N)^n. This is multiplied by the number of absences that are as long, at most: 2 at the
    beginning or the end of a log, n + 1 elsewhere. So a rare arm may miss many small environments by chance,
    but not the first half of a log. Environments that an arm was left out of make other absences less
    probable, which are therefore checked again. The order of environments matters only for absences from
    several environments; a large environment is recognized wherever it stands.
    """
    K, J = traffic.K, traffic.J
    before = np.concatenate([[0.0], np.cumsum(traffic.sizes)])
    # Around each arm's environments: the position -1, then each environment, then the position J.
    arm = np.concatenate([traffic.arm, np.arange(K), np.arange(K)])
    position = np.concatenate([traffic.environment, np.full(K, -1), np.full(K, J)])
    order = np.lexsort((position, arm))
    arm, position = arm[order], position[order]
    same = arm[1:] == arm[:-1]
    of, start, stop = arm[1:][same], position[:-1][same] + 1, position[1:][same]
    of, start, stop = (x[(stop > start) & (traffic.by_arm[of] > 0.0)] for x in (of, start, stop))
    n, gap, left_out = traffic.by_arm[of], before[stop] - before[start], np.zeros(of.size, np.bool_)
    absences = np.where((start == 0) | (stop == J), 2.0, n + 1.0)
    possible = np.full(of.size, np.sum(traffic.n))  # N: assignments where the arm could be assigned
    while True:
        with np.errstate(divide="ignore", invalid="ignore"):  # absences that are left out already
            log_chance = np.log(absences) + n * np.log1p(-gap / possible)
        found = ~left_out & (log_chance < np.log(CHANCE_GAP))
        if not np.any(found):
            break
        left_out |= found
        possible -= sum_by_index(of, gap * found, K)[of]
    of, start, stop = of[left_out], start[left_out], stop[left_out]
    cuts = np.unique(np.concatenate([[0], start, stop]))
    change = np.zeros((cuts.size, K), np.int8)
    change[np.searchsorted(cuts, start), of] += 1
    change[np.searchsorted(cuts, stop), of] -= 1
    available, which = np.unique(np.cumsum(change, axis=0, dtype=np.int8) == 0, axis=0, return_inverse=True)
    return Choices(which.ravel()[np.searchsorted(cuts, np.arange(J), side="right") - 1], available)
