"""Sample ratio mismatch: whether the arms received their expected numbers of rows, or of units, in total."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from tideproof.checks import require_finite, require_whole_number
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError, UnknownName
from tideproof.stats.best.student_inference import chi2_tail
from tideproof.stats.cells import BLOCK_NUMBERS, Cells, sum_by_index
from tideproof.stats.diagnostics.share_drift import TrafficCounts, count_traffic, traffic_drift
from tideproof.table import Table, to_json_values

_LARGE = 20.0  # With this expected count of every arm, the chi-squared distribution is accurate.
_DRAWS = 20_000  # simulated logs otherwise


@dataclass(frozen=True, slots=True)
class SampleRatio:
    """Result of the sample ratio tests: whether the arms received their expected shares of the traffic.

    The expected count of an arm is its share of all rows, or of all units if units are known: each unit
    counts once, in its first environment. Where an arm is absent for longer than chance explains, such as
    before it was added, it is taken to have been left out on purpose; there, expected shares are those among
    the other arms.

    Attributes
    ----------
    chi2, df, p : test of the total counts of the arms. How shares vary between environments does not matter.
        The p-value is exact for two arms (mid-p). If some expected count is below 20, it is from simulated
        logs, with a fixed seed, and not below 0.00005.
    drift_chi2, drift_df, drift_p : another question: test against shares that are equal in all environments,
        whatever they are. If shares should be fixed, a small p means that raw means compare different
        environments. It does not mean that the totals are wrong.
    counted : what is counted, "rows" or "units".
    arms : table of arms: n, expected count, z-score, and the number of environments they were left out of.
    worst : the environments that are furthest from the expected shares.
    """

    chi2: float
    df: int
    p: float
    drift_chi2: float
    drift_df: int
    drift_p: float
    counted: Literal["rows", "units"]
    arms: Table
    worst: Table

    def to_dict(self) -> dict[str, Any]:
        """Return the result of the sample ratio tests as a dictionary of plain values for JSON."""
        found: dict[str, Any] = to_json_values(self)
        return found


class _Totals(NamedTuple):
    """Test of total counts: statistic, degrees of freedom, p-value; each arm's expected count and z-score."""

    chi2: float
    df: int
    p: float
    target: Floats
    z: Floats


def sample_ratio(c: Cells, expected: Mapping[Any, float] | None, worst: int) -> SampleRatio:
    """Test whether arms received their expected shares of the traffic.

    Without expected shares, all arms that have rewards should have equal shares.
    """
    worst = require_whole_number("worst", worst, 1)
    counted = count_traffic(c)
    arms, share = _expected_shares(c.arms, counted.by_arm, expected)
    traffic = replace(counted, K=len(arms))
    totals, drift = _test_totals(traffic, share), traffic_drift(traffic)
    within = traffic.choices.shares(share)[traffic.choices.of[traffic.environment], traffic.arm]
    terms = traffic.n**2 / (traffic.sizes[traffic.environment] * within)
    by_environment = sum_by_index(traffic.environment, terms, traffic.J) - traffic.sizes
    rows = np.argsort(-by_environment, kind="stable")[:worst]
    sizes = traffic.sizes / traffic.per_unit
    return SampleRatio(
        chi2=totals.chi2,
        df=totals.df,
        p=totals.p,
        drift_chi2=drift.chi2,
        drift_df=drift.df,
        drift_p=drift.p,
        counted="rows" if c.units is None or c.units.rows else "units",
        arms=Table(
            {
                "arm": arms,
                "n": _as_counts(traffic.by_arm / traffic.per_unit),
                "expected": totals.target / traffic.per_unit,
                "z": totals.z,
                "left_out": traffic.choices.left_out,
            }
        ),
        worst=Table(
            {
                "environment": [c.environments[j] for j in rows],
                "n": _as_counts(sizes[rows]),
                "chi2": by_environment[rows],
            }
        ),
    )


def _as_counts(n: Floats) -> Floats | Ints:
    """Return whole numbers as integers."""
    return n.astype(np.int64) if np.all(n == np.round(n)) else n


def _test_totals(traffic: TrafficCounts, share: Floats) -> _Totals:
    """Test the total count of each arm against its expectation.

    Given the number of assignments in each environment, totals are sums of independent multinomial numbers.
    For environments with the same set of arms the statistic is Pearson's.
    """
    choices = traffic.choices
    within = choices.shares(share)
    size = sum_by_index(choices.of, traffic.sizes, len(within))
    target, variance = size @ within, size @ (within * (1.0 - within))
    free = np.flatnonzero(variance > 0.0)
    z = np.full(traffic.K, np.nan)
    z[free] = (traffic.by_arm - target)[free] / np.sqrt(variance[free])
    choose = (size > 0.0) & np.any((within > 0.0) & (within < 1.0), axis=1)  # sets of two arms or more
    size, within = size[choose], within[choose]
    root, df = _inverse_root(size, within[:, free])
    chi2 = float(np.sum((z[free] @ root) ** 2))
    whole = bool(np.all(traffic.n == np.round(traffic.n)))
    if whole and free.size == 2:
        excess = float((traffic.by_arm - target)[free[0]])
        p = binomial_p(excess, int(np.sum(size)), float(within[0, free[0]]))
    elif whole and free.size and float(np.min((size @ within)[free])) < _LARGE:
        p = _simulated_p(chi2, size, within[:, free], root / np.sqrt(variance[free])[:, None])
    else:
        p = chi2_tail(chi2, df)
    return _Totals(chi2, df, p, target, z)


def _inverse_root(size: Floats, within: Floats) -> tuple[Floats, int]:
    """Return a root of a generalized inverse of the correlations of total counts, and their rank.

    `size` and `within` are the number of assignments and the arms' shares for each set of arms.
    """
    if len(size) == 1:
        return np.diag(np.sqrt(1.0 - within[0])), within.shape[1] - 1
    variance = size @ (within * (1.0 - within))
    covariance = np.diag(size @ within) - (size[:, None] * within).T @ within
    value, vector = np.linalg.eigh(covariance / np.sqrt(np.outer(variance, variance)))
    positive = value > 1e-9
    return vector[:, positive] / np.sqrt(value[positive]), int(np.count_nonzero(positive))


def binomial_p(excess: float, n: int, share: float) -> float:
    """Return the probability that a binomial number is at least as far from its mean as `excess`.

    Numbers that are exactly as far count half (mid-p). The result is 1 at the mean.

    >>> round(binomial_p(3.0, 6, 0.5), 4)  # 0 or 6 of 6: half of 2/64
    0.0156
    """
    from scipy.special import bdtr, bdtrc

    mean, distance = n * share, abs(excess)
    rounding = 1e-9 * max(1.0, mean)
    low = [math.ceil(mean - distance - rounding) - 1, math.floor(mean - distance + rounding)]
    high = [math.floor(mean + distance + rounding), math.ceil(mean + distance - rounding) - 1]
    below = sum(float(bdtr(k, n, share)) for k in low if k >= 0)
    return 0.5 * (below + sum(float(bdtrc(k, n, share)) for k in high if k < n))


def _simulated_p(chi2: float, size: Floats, within: Floats, root: Floats) -> float:
    """Return the share of simulated logs with a larger statistic; those with the same one count half."""
    statistics = _simulated_statistics(tuple(size), *(tuple(map(tuple, x)) for x in (within, root)))
    larger, as_large = (
        _DRAWS - np.searchsorted(statistics, chi2 * (1.0 + rounding)) for rounding in (1e-9, -1e-9)
    )
    return min(1.0, (0.5 * float(larger + as_large) + 1.0) / (_DRAWS + 1))


@lru_cache(maxsize=16)
def _simulated_statistics(
    size: tuple[float, ...], within: tuple[tuple[float, ...], ...], root: tuple[tuple[float, ...], ...]
) -> Floats:
    """Return sorted test statistics of simulated logs whose traffic shares are as planned.

    `size` and `within` are the number of assignments and the arms' shares for each set of arms. The statistic
    is the square of the excess counts times `root`.
    """
    random = np.random.default_rng(0)
    target, statistics = np.array(size) @ np.array(within), np.zeros(_DRAWS)
    step = max(1, BLOCK_NUMBERS // target.size)
    for start in range(0, _DRAWS, step):
        draws = min(step, _DRAWS - start)
        counts = sum(
            random.multinomial(round(n), share, draws) for n, share in zip(size, within, strict=True)
        )
        statistics[start : start + draws] = np.sum(((counts - target) @ np.array(root)) ** 2, axis=1)
    return np.sort(statistics)


def _expected_shares(
    arms: list[Any], counts: Floats, expected: Mapping[Any, float] | None
) -> tuple[list[Any], Floats]:
    """Return all arms, also those without rows, and their expected shares of the traffic up to a factor.

    Raise an error for invalid shares.
    """
    if expected is None:
        return arms, np.where(counts > 0.0, 1.0, 0.0)
    absent = [arm for arm in expected if arm not in arms]
    if lacking := [arm for arm in arms if arm not in expected]:
        if absent:
            raise UnknownName.with_suggestion("arm", absent[0], arms)
        raise InputError(f"expected shares are needed for all arms; there is none for {lacking[0]!r}")
    arms = [*arms, *absent]
    share = np.array([require_finite(f"the share of {arm}", expected[arm]) for arm in arms])
    if np.any(share <= 0.0):
        raise InputError(f"expected shares must be positive, not {min(share.tolist())!r}")
    return arms, share
