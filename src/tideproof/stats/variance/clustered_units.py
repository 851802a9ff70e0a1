"""Cluster-robust covariance of arm effects: rewards of one unit, such as a visitor, may be dependent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.cells import Cells, UnitRewards, sum_by_index
from tideproof.stats.solve.least_squares import Solution, cell_residuals
from tideproof.text import join_names

_BLOCK = 2**20  # Numbers in a dense block of units x arms: 8 MB.


class ClusteredCovariance(NamedTuple):
    """Cluster-robust covariance of the arm effects; the clusters are units, such as visitors.

    Attributes
    ----------
    covariance : (K, K) of muhat.
    freedom : (K,) degrees of freedom of each arm: the number of units minus 1 in its connected group.
    """

    covariance: Floats
    freedom: Floats


def clustered_covariance(c: Cells, s: Solution) -> ClusteredCovariance:
    """Return the cluster-robust sandwich covariance of the arm effects; each unit is one cluster.

    It is P (sum_u z_u z_u') P.

    z_u adds up (reward - expected reward) g over the rewards of the unit, with g = e_arm - b_j and b_j the
    shares of the arms in the environment. The small-sample factors are U/(U - 1) and (N - 1)/(N -
    parameters), with U - 1 degrees of freedom, for each group of connected arms. Environments with a single
    arm do not count, and shifts do not count as parameters if every environment belongs to one unit. If every
    unit belongs to one environment, as classes belong to schools, shifts and arms use degrees of freedom of
    the units: the factor is U/(U - parameters), with U - parameters degrees of freedom.

    References
    ----------
    Liang, Zeger (1986), Longitudinal data analysis using generalized linear models; Cameron, Miller
    (2015), A practitioner's guide to cluster-robust inference.
    """
    if c.units is None:
        raise InputError("variance='by-unit' needs a column of units: name it by unit= (--unit)")
    c.check_one_way("variance='by-unit'")
    u = c.units
    used = np.flatnonzero(c.compares[c.environment[u.cell]])
    group = s.component[c.arm[u.cell[used]]]
    groups = int(s.component.max()) + 1
    units = _count_distinct_by_group(group, u.unit[used], groups)
    N = sum_by_index(group, u.n[used], groups)
    arms = np.bincount(s.component, minlength=groups)
    environment = c.environment[u.cell[used]]
    environments = _count_distinct_by_group(group, environment, groups)
    few = np.flatnonzero((arms > 1) & (units < 2.0))
    if few.size:
        names = join_names(c.arms[i] for i in np.flatnonzero(s.component == few[0]))
        raise InputError(
            f"variance='by-unit' needs at least two units; the group of arms {names} has only "
            f"{units[few[0]]:.0f}"
        )
    # Pairs of unit and environment.
    met = _count_distinct(environment * (int(u.unit.max(initial=0)) + 1) + u.unit[used])
    nested = met == _count_distinct(environment)
    parameters = arms if nested else arms + environments - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):  # for an arm that is alone
        factor = units / (units - 1.0) * (N - 1.0) / (N - parameters)
    freedom = units - 1.0
    if met == _count_distinct(u.unit[used]) and not nested:
        freedom = units - arms - environments + 1.0
        spent = np.flatnonzero((arms > 1) & (freedom < 1.0))
        if spent.size:
            names = join_names(c.arms[i] for i in np.flatnonzero(s.component == spent[0]))
            raise InputError(
                f"variance='by-unit' needs at least as many units as arms and environments together; the "
                f"group of arms {names} has {units[spent[0]]:.0f} units in "
                f"{environments[spent[0]]:.0f} environments"
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = units / freedom
    factor[arms < 2] = 0.0
    C = factor[s.component] * (s.P @ _scores(c, s, u, used) @ s.P)
    return ClusteredCovariance(C, np.where(s.group > 0, freedom[s.component], float(s.freedom)))


def _scores(c: Cells, s: Solution, u: UnitRewards, used: Ints) -> Floats:
    """Return the middle matrix of the sandwich estimator that is clustered by unit: (K, K).

    It is the sum of z_u z_u' over units u, with z_u the score of a unit, and is computed for one block of
    units at a time.
    """
    expected = c.mean - cell_residuals(s, c)
    rest = u.n * (u.mean - expected[u.cell])
    used = used[np.argsort(u.unit[used], kind="stable")]
    number = np.cumsum(np.diff(u.unit[used], prepend=-1) > 0) - 1
    b = c.dense_shares()
    total = np.zeros((c.K, c.K))
    step = max(1, _BLOCK // c.K)
    start = 0
    while start < used.size:
        stop = int(np.searchsorted(number, number[min(start + step, used.size) - 1], side="right"))
        here, row = used[start:stop], number[start:stop] - number[start]
        cell = u.cell[here]
        g = -rest[here, None] * b[c.environment[cell]]
        g[np.arange(here.size), c.arm[cell]] += rest[here]
        first = np.flatnonzero(np.diff(row, prepend=-1))
        z = np.add.reduceat(g, first, axis=0)
        total += z.T @ z
        start = stop
    return total


def _count_distinct_by_group(group: Ints, label: Ints, groups: int) -> Floats:
    """Return the number of distinct labels in each group: (groups,)."""
    ordered = np.sort(label * groups + group)  # Sorting is quicker than np.unique.
    found = ordered[np.flatnonzero(np.diff(ordered, prepend=-1))] % groups
    return sum_by_index(found, np.ones(found.size), groups)


def _count_distinct(label: Ints) -> int:
    """Return the number of distinct labels in an array."""
    return int(np.count_nonzero(np.diff(np.sort(label), prepend=-1)))
