"""Test whether the arms' shares of the traffic changed from environment to environment."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.best.student_inference import deviate, normal_tail
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.diagnostics.traffic_counts import TrafficCounts, count_traffic


class ShareDrift(NamedTuple):
    """Result of the test that the arms' shares are equal in all environments, whatever they are."""

    chi2: float
    df: int
    p: float


def share_drift(c: Cells) -> ShareDrift:
    """Test whether the arms' shares of the traffic are equal in all environments, whatever they are.

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
    """Sums over one margin of each table, its environments or its arms.

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
    """Return the sums over the totals `n` of one margin, for each table; `of` is the table of each total."""
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
