"""Confidence intervals: against scipy, a general optimiser and enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special, stats

from tideproof.lab.share_intervals import binomial, paired, quantile


def test_binomial_interval_is_exact():
    events = np.array([0, 1, 7, 99, 100])
    low, high = binomial(events, 100, 0.9)
    for k, left, right in zip(events, low, high, strict=True):
        exact = stats.binomtest(int(k), 100).proportion_ci(0.9, method="exact")
        assert (left, right) == pytest.approx((exact.low, exact.high), rel=1e-9)


@pytest.mark.parametrize(("b", "c"), [(0, 0), (5, 0), (0, 5), (12, 3), (40, 41), (100, 0)])
def test_paired_interval_solves_the_score_equation(b, c):
    """At its ends the score statistic is +-z, with the likelihood maximised by a general optimiser."""
    n = 100
    low, high = (float(end[0]) for end in paired(np.array([b]), np.array([c]), n, 0.95))
    assert -1 <= low <= (b - c) / n <= high <= 1
    for d in (low, high):
        if abs(d) == 1:
            continue

        def unlikely(q, d=d):
            counts, chances = np.array([b, c, n - b - c]), np.array([q + d, q, 1 - 2 * q - d])
            return -special.xlogy(counts, np.maximum(chances, 1e-300)).sum()

        bounds = max(0.0, -d), (1 - d) / 2
        q = optimize.minimize_scalar(unlikely, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
        z = ((b - c) / n - d) / np.sqrt((2 * q + d * (1 - d)) / n)
        assert abs(z) == pytest.approx(quantile(0.95), rel=1e-3)


@pytest.mark.parametrize("chances", [(0.004, 0.001), (0.002, 0.002), (0.001, 0.0), (0.05, 0.02)])
def test_paired_interval_covers(chances):
    """Exact coverage by enumeration: the score interval is close to its level even for rare errors."""
    n = 1000
    b, c = (grid.ravel() for grid in np.mgrid[:120, :60])
    low, high = paired(b, c, n, 0.95)
    truth = chances[0] - chances[1]
    weight = stats.multinomial(n, [*chances, 1 - sum(chances)]).pmf(np.stack([b, c, n - b - c], axis=1))
    assert weight.sum() == pytest.approx(1.0)
    assert weight[(low <= truth) & (truth <= high)].sum() > 0.93
