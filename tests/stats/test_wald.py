"""Pairs by estimate and standard error, against scipy's Student-t."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tideproof.stats.pairs.difference_pairs import WaldPairs

MU = np.array([1.0, 3.5, 2.0])
C = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.0], [0.1, 0.0, 3.0]])
FREEDOM = np.array([[np.inf, 4.0, 9.5], [4.0, np.inf, 30.0], [9.5, 30.0, np.inf]])


def test_tests_and_limits_are_student_t():
    pairs = WaldPairs(MU, C, FREEDOM)
    for i, k in ((0, 1), (1, 0), (2, 1), (0, 2)):
        gap, nu = MU[i] - MU[k], FREEDOM[i, k]
        c = np.eye(3)[i] - np.eye(3)[k]
        se = math.sqrt(c @ C @ c)
        assert pairs.gap(i, k) == gap
        for null in (0.0, -2.0, 40.0):
            p = 2 * stats.norm.sf(abs(pairs.deviate(i, k, null)))
            assert p == pytest.approx(2 * stats.t.sf(abs(gap - null) / se, nu), rel=1e-9)
            assert np.sign(pairs.deviate(i, k, null)) == np.sign(gap - null)
        low, high = stats.t.interval(0.9, nu, gap, se)
        z = stats.norm.ppf(0.95)
        assert (pairs.lower(i, k, z), pairs.upper(i, k, z)) == pytest.approx((low, high), rel=1e-9)
        assert pairs.deviate(i, k, pairs.upper(i, k, z)) == pytest.approx(-z, rel=1e-9)
        assert pairs.enough(i, k)


def test_without_freedom_nothing_is_known_but_the_estimate():
    pairs = WaldPairs(MU, C, np.zeros((3, 3)))
    assert pairs.gap(1, 0) == 2.5
    assert np.isnan([pairs.deviate(1, 0), pairs.upper(1, 0, 2.0), pairs.lower(1, 0, 2.0)]).all()


def test_without_noise_everything_is():
    pairs = WaldPairs(MU, np.zeros((3, 3)), FREEDOM)
    assert (pairs.deviate(1, 0), pairs.deviate(0, 1)) == (math.inf, -math.inf)
    assert pairs.deviate(1, 0, 2.5) == 0.0
    assert (pairs.lower(1, 0, 2.0), pairs.upper(1, 0, 2.0)) == (2.5, 2.5)
