"""Limits of lognormal means: against generalised pivots, drawn at random."""

import numpy as np
import pytest

from tideproof.stats.pairs.log_pairs import LogPairs


def pairs(n=(25, 60), v=(1.0, 0.5), m=(0.4, 0.0)):
    n, v, m = (np.array(x, float) for x in (n, v, m))
    freedom = np.full((2, 2), n.sum() - 2.0)
    return LogPairs(m + 0.5 * v, np.diag(v / n), freedom, 0.5 * v, n - 1.0)


def test_limits_are_near_those_of_generalised_pivots():
    """Krishnamoorthy, Mathew (2003): m - Z sqrt(V/n) + V/2 with V = v nu/chi2, of each arm; 400,000 draws."""
    random = np.random.default_rng(3)
    total = 0.0
    for sign, n, v, m in ((1.0, 25, 1.0, 0.4), (-1.0, 60, 0.5, 0.0)):
        V = v * (n - 1) / random.chisquare(n - 1, 400_000)
        total = total + sign * (m + random.normal(size=V.size) * np.sqrt(V / n) + 0.5 * V)
    low, high = np.quantile(total, [0.025, 0.975])
    found = pairs()
    assert found.lower(0, 1, 1.959964) == pytest.approx(low, abs=0.06)
    assert found.upper(0, 1, 1.959964) == pytest.approx(high, abs=0.06)
    assert high - found.gap(0, 1) > 1.3 * (found.gap(0, 1) - low)


@pytest.mark.parametrize("z", [0.3, 1.645, 4.0])
def test_a_limit_is_the_gap_at_which_the_deviate_is_z(z):
    found = pairs()
    assert found.deviate(0, 1, found.upper(0, 1, z)) == pytest.approx(-z, abs=1e-6)
    assert found.deviate(0, 1, found.lower(0, 1, z)) == pytest.approx(z, abs=1e-6)
    assert found.deviate(1, 0, -found.upper(0, 1, z)) == pytest.approx(z, abs=1e-6)
    assert found.enough(0, 1)


def test_nothing_is_known_without_freedom():
    found = LogPairs(np.zeros(2), np.eye(2), np.zeros((2, 2)), np.ones(2), np.ones(2))
    assert np.isnan(found.deviate(0, 1))
    assert np.isnan(found.upper(0, 1, 2.0))
