"""Limits of a ratio, against the test they invert."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tideproof.stats.pairs.fieller_interval import fieller_interval


@pytest.mark.parametrize("xy", [-0.2, 0.0, 0.3])
def test_at_a_limit_the_two_sided_test_is_at_the_level(xy):
    x, y, xx, yy, freedom, level = 1.2, 5.0, 0.5, 0.4, 17.0, 0.9
    for q in fieller_interval(x, y, xx, xy, yy, freedom, level):
        t = (x - q * y) / math.sqrt(xx - 2.0 * q * xy + q * q * yy)
        assert 2.0 * stats.t.sf(abs(t), freedom) == pytest.approx(1.0 - level, rel=1e-9)


def test_small_errors_give_the_delta_method():
    x, y, xx, xy, yy = 2.0, 8.0, 1e-6, 2e-7, 3e-6
    low, high = fieller_interval(x, y, xx, xy, yy, 1e6, 0.95)
    q = x / y
    delta = math.sqrt(xx - 2 * q * xy + q * q * yy) / y
    assert (high - low) / 2 == pytest.approx(1.95996 * delta, rel=1e-4)
    assert (high + low) / 2 == pytest.approx(q, rel=1e-5)


def test_where_the_denominator_may_be_0_there_are_no_limits():
    assert all(map(math.isnan, fieller_interval(1.0, 0.5, 0.1, 0.0, 0.1, 20.0, 0.95)))
    assert all(map(math.isnan, fieller_interval(1.0, 0.5, 0.1, 0.0, 0.1, 0.0, 0.95)))


def test_coverage():
    """2,000 draws, 95 %: fewer than 1,855 or more than 1,940 cover with probability below 1e-4."""
    random = np.random.default_rng(8)
    x, y = random.normal(3.0, 0.4, 2000), random.normal(4.0, 0.5, 2000)
    pairs = (fieller_interval(a, b, 0.16, 0.0, 0.25, 1e9, 0.95) for a, b in zip(x, y, strict=True))
    assert 1855 <= sum(low <= 0.75 <= high for low, high in pairs) <= 1940
