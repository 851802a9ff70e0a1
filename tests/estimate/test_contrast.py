"""A difference, its variance and its degrees of freedom to an interval: against scipy.stats."""

import math

import numpy as np
import pytest
from scipy import stats

from tideproof.estimate import Fit
from tideproof.estimate.contrast import contrast, known
from tideproof.estimate.groups import against_best, chances
from tideproof.stats.comparisons import compare_with_best
from tideproof.stats.inference import chance_of_best
from tideproof.stats.noise import Estimate


def test_an_interval_and_its_p_value():
    found = contrast("B", "A", -1.5, 0.25, 7.5, 0.9, True)
    reach = stats.t.ppf(0.95, 7.5) * 0.5
    assert (found.a, found.b, found.estimate, found.se) == ("B", "A", -1.5, 0.5)
    assert (found.low, found.high) == pytest.approx((-1.5 - reach, -1.5 + reach), rel=1e-12)
    assert found.p == pytest.approx(2 * stats.t.sf(3.0, 7.5), rel=1e-12)
    assert (found.freedom, found.adaptive) == (7.5, True)
    assert isinstance(contrast("B", "A", 1.0, 1.0, 7.0, 0.9, False).freedom, int)


def test_what_is_not_known_is_none():
    for variance, freedom in ((1.0, 0.0), (math.nan, 5.0), (math.nan, 0.0)):
        found = contrast("B", "A", 1.0, variance, freedom, 0.95, False)
        assert found.estimate == 1.0
        assert (found.low, found.high, found.p) == (None, None, None)
    assert contrast("B", "A", 1.0, -1e-18, 3.0, 0.95, False).se == 0.0  # rounding
    assert (known(0.0), known(math.nan)) == (0.0, None)


def estimate():
    """Two groups, {0, 2, 4} and {1, 3}, and arm 5 alone; every pair has its own degrees of freedom."""
    random = np.random.default_rng(4)
    C = np.zeros((6, 6))
    for group in ([0, 2, 4], [1, 3]):
        A = random.normal(size=(len(group), 8))
        C[np.ix_(group, group)] = A @ A.T / 8
    freedom = random.integers(3, 30, size=(6, 6)).astype(float)
    freedom = np.minimum(freedom, freedom.T)
    np.fill_diagonal(freedom, 1.0)  # of no contrast
    groups = [np.array([0, 2, 4]), np.array([1, 3]), np.array([5])]
    return Estimate(random.normal(size=6), C, freedom, None, None, None), groups


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_each_group_is_compared_by_itself(sign):
    found, groups = estimate()
    chance, error = chances(found, groups, sign)
    rows = against_best(found, groups, sign, 0.9)
    errors = []
    for group in groups[:2]:
        C, nu = found.covariance[np.ix_(group, group)], found.freedom[np.ix_(group, group)]
        fewest = np.array([min(np.delete(row, i)) for i, row in enumerate(nu)])
        want, worst = chance_of_best(sign * found.mu[group], 1.0, C, fewest.min())
        assert chance[group].tolist() == want.tolist()
        errors.append(worst)
        own = compare_with_best(sign * found.mu[group], C, fewest, 0.9)
        assert rows.estimate[group].tolist() == (sign * own.estimate).tolist()
        assert rows.candidate[group].tolist() == own.candidate.tolist()
        low, high = (own.low, own.high) if sign > 0 else (-own.high, -own.low)
        assert (rows.low[group].tolist(), rows.high[group].tolist()) == (low.tolist(), high.tolist())
    assert error == max(errors)
    assert math.isnan(chance[5])
    assert np.isnan([rows.estimate[5], rows.low[5], rows.high[5]]).all()
    assert rows.candidate[5]


def test_without_noise_known_there_are_no_chances():
    found, groups = estimate()
    chance, error = chances(found._replace(covariance=np.full((6, 6), np.nan)), groups, 1.0)
    assert np.isnan(chance).all()
    assert math.isnan(error)


def test_intervals_of_means_and_shifts_have_their_own_freedom():
    """Two groups that never met, clustered: five environments here, three there."""
    random = np.random.default_rng(6)
    arm = np.concatenate([np.tile(list("AABB"), 5), np.tile(list("CCDD"), 3)])
    day = np.repeat(np.arange(8), 4)
    fit = Fit.from_arrays(arm, day, random.normal(size=32), variance="clustered", level=0.8)
    for row in fit.arms:
        freedom = 4 if row["arm"] in "AB" else 2
        assert (row["high"] - row["low"]) / 2 / row["se"] == pytest.approx(stats.t.ppf(0.9, freedom))
        assert (row["high"] + row["low"]) / 2 == pytest.approx(row["mean"])
    for row in fit.shifts:
        freedom = 4 if row["environment"] < 5 else 2
        assert (row["high"] - row["low"]) / 2 / row["se"] == pytest.approx(stats.t.ppf(0.9, freedom))
    assert [fit.contrast(*pair).freedom for pair in ("AB", "CD")] == [4, 2]
