"""Ratio metrics: the delta method against the jackknife and a closed form."""

from __future__ import annotations

import numpy as np
import pytest

from tideproof.analysis import Fit
from tideproof.data import cells_from_arrays
from tideproof.errors import InputError
from tideproof.stats.solve.ratio_metric import ratio_cells


def draw(seed, rows=300):
    random = np.random.default_rng(seed)
    arm, day = random.integers(2, size=rows), random.integers(2, size=rows)
    sessions = 1.0 + random.poisson(3.0, size=rows)
    revenue = sessions * (1.0 + arm) + random.normal(size=rows)
    return arm, day, sessions, revenue


def quotients(arm, day, x, y):
    c, d = cells_from_arrays(arm, day, y), cells_from_arrays(arm, day, x)
    cross = cells_from_arrays(arm, day, x + y).squares - c.squares - d.squares
    products = np.array([[c.squares, cross / 2], [cross / 2, d.squares]])
    return ratio_cells(c, d.mean, products, "sessions")


def test_means_are_sums_over_sums_and_variances_those_of_the_jackknife():
    arm, day, x, y = draw(0)
    c = quotients(arm, day, x, y)
    for k in range(c.n.size):
        rows = (arm == c.arms[c.arm[k]]) & (day == c.environments[c.environment[k]])
        assert c.mean[k] == pytest.approx(y[rows].sum() / x[rows].sum(), rel=1e-12)
        without = (y[rows].sum() - y[rows]) / (x[rows].sum() - x[rows])
        n = rows.sum()
        jackknife = (n - 1) / n * np.sum((without - without.mean()) ** 2)
        assert c.squares[k] / (n * (n - 1)) == pytest.approx(jackknife, rel=0.1)


def test_a_denominator_of_one_value_divides():
    arm, day, _, y = draw(1)
    c, plain = quotients(arm, day, np.full(y.size, 4.0), y), cells_from_arrays(arm, day, y / 4.0)
    assert c.mean == pytest.approx(plain.mean, rel=1e-12)
    assert c.squares == pytest.approx(plain.squares, rel=1e-12)


def test_a_numerator_that_is_a_multiple_has_no_noise():
    arm, day, x, _ = draw(2)
    c = quotients(arm, day, x, 3.0 * x)
    assert c.mean == pytest.approx(np.full(4, 3.0))
    assert c.squares == pytest.approx(np.zeros(4), abs=1e-9)


def test_coverage_of_the_delta_method():
    """400 logs of 150 rows, 95 % intervals: fewer than 358 or more than 397 cover with probability 1e-4."""
    covered = 0
    for seed in range(400):
        random = np.random.default_rng(seed)
        x = 1.0 + random.poisson(2.0, size=150)
        y = random.normal(0.7 * x, 1.0)
        c = quotients(np.repeat([0, 1], 75), np.zeros(150, int), x, y)
        error = np.sqrt(np.sum(c.squares / (c.n * (c.n - 1.0))))
        covered += abs(c.mean[0] - c.mean[1]) <= 1.976 * error
    assert 358 <= covered <= 397


def test_a_denominator_without_sum_is_refused():
    with pytest.raises(InputError, match=r"denominator 'sessions' must add up to more than 0 .* 1 in 5 is 0"):
        quotients(np.array([0, 0, 1, 1]), np.full(4, 5), np.array([1.0, 2.0, 1.0, -1.0]), np.arange(4.0))


def test_quotients_of_few_rows_vary_as_they_scatter_around_the_additive_fit():
    """The scatter is that of a regression by statsmodels; it is used from ten degrees of freedom on."""
    import statsmodels.api as sm

    random = np.random.default_rng(4)
    for days, used in ((30, True), (9, False)):
        arm, day = np.tile(np.repeat([0, 1], 4), days), np.repeat(np.arange(days), 8)
        x = random.geometric(0.3, arm.size).astype(float)
        y = x * random.exponential(size=arm.size)
        c = quotients(arm, day, x, y)
        plain = [
            np.sum(((y - R * x) / x.mean()) ** 2)
            for R, x, y in ((y[k].sum() / x[k].sum(), x[k], y[k]) for k in np.arange(8 * days).reshape(-1, 4))
        ]
        design = np.column_stack([np.eye(days)[c.environment], c.arm])
        scatter = 4.0 * sm.OLS(c.mean, design).fit().mse_resid
        want = max(1.0, scatter / (np.sum(plain) / (3 * 2 * days))) if used else 1.0
        assert c.squares == pytest.approx(want * np.array(plain), rel=1e-9)
        assert (want > 1.0) == used


def test_coverage_of_quotients_with_four_rows_in_a_cell():
    """200 logs; 181 or fewer of intervals at 95 % cover in 1 of 150 such tests; by the delta method 176 did here."""
    covered = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        arm, day = np.tile(np.repeat([0, 1], 4), 50), np.repeat(np.arange(50), 8)
        x = random.geometric(0.2, arm.size).astype(float)
        y = x * random.exponential(size=arm.size)
        found = Fit(quotients(arm, day, x, y), scale="difference").contrast(1, 0)
        covered += found.low <= 0.0 <= found.high
    assert covered > 181
