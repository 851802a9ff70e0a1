"""Bounds for all looks at once, against integrals over the gaps and against random walks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import binom, multivariate_normal, nct, norm, t

from simulations import ALARM
from tideproof.stats.best.anytime_bounds import MIXTURE_EVENTS, AnytimeBounds, mixture_variance
from tideproof.stats.best.student_inference import student_from_normal
from tideproof.stats.cells import Cells


def pair(variance, freedom):
    """Return covariance and freedom of two arms."""
    return np.diag([0.25, 0.75]) * variance, np.full((2, 2), float(freedom))


def against_density(square, r, freedom):
    """Return the density of t averaged over its non-centrality, normal with variance r, over that of none."""
    x, root = math.sqrt(square), math.sqrt(r)
    density = nct.pdf if math.isfinite(freedom) else lambda x, _, shift: norm.pdf(x - shift)
    none = t.pdf(x, freedom) if math.isfinite(freedom) else norm.pdf(x)
    average = quad(
        lambda shift: density(x, freedom, shift) * norm.pdf(shift, 0.0, root), -40.0, 40.0, limit=500
    )
    return average[0] / none


@pytest.mark.parametrize("freedom", [12.0, 80.0, math.inf])
@pytest.mark.parametrize("r", [0.8, 9.0])
def test_bound_of_a_pair_is_where_the_averaged_density_is_one_over_alpha(freedom, r):
    C, nu = pair(1.0 / r, freedom)
    bar = AnytimeBounds(1.0, joint=False).alone(C, nu, 0.05)[0, 1]
    square = student_from_normal(bar, freedom) ** 2
    assert against_density(square, r, freedom) == pytest.approx(20.0, rel=1e-5)


def test_few_degrees_of_freedom_bound_nothing():
    C, nu = pair(1.0, 1.0)
    found = AnytimeBounds(1.0, joint=False)
    assert found.alone(C, nu, 0.05)[0, 1] == math.inf
    assert found.p_value(C, nu, 0, 1, 30.0) == pytest.approx(math.sqrt(0.5))  # however far, (1 + r)^(-nu/2)


def test_bounds_are_lowest_at_nine_times_the_usual():
    def bar(r):
        C, nu = pair(1.0 / r, math.inf)
        return AnytimeBounds(1.0, joint=False).alone(C, nu, 0.05)[0, 1]

    assert bar(9.0) == pytest.approx(3.035, abs=0.001)
    assert bar(9.0) < min(bar(8.0), bar(10.0)) + 1e-3
    assert [round(bar(r), 1) for r in (1.0, 1000.0)] == [3.7, 3.6]


def test_one_side_pays_for_one_side():
    """Averaged over gaps above 0 alone, the ratio is at least what was asked for, and not much more."""
    C, nu = np.eye(3), np.full((3, 3), math.inf)
    found = AnytimeBounds(12.0, joint=False)
    z = found.with_best(C, nu, 0.05)[0, 1]
    r = 12.0 / 2.0
    ratio = quad(
        lambda gap: 2.0 * norm.pdf(gap, 0.0, math.sqrt(r)) * math.exp(z * gap - 0.5 * gap**2), 0.0, 40.0
    )
    assert 40.0 <= ratio[0] < 41.5
    assert np.all(found.with_best(C, nu, 0.05) < found.all_pairs(C, nu, 0.05) + np.eye(3))


@pytest.mark.parametrize("freedom", [9.0, math.inf])
def test_of_two_arms_all_gaps_at_once_are_one_gap(freedom):
    C, nu = pair(0.3, freedom)
    apart, joint = (AnytimeBounds(2.0, joint=joint).alone(C, nu, 0.1) for joint in (False, True))
    np.testing.assert_allclose(apart, joint)


def test_bound_of_all_gaps_at_once_is_the_edge_of_a_dense_ellipsoid():
    random = np.random.default_rng(0)
    A = random.standard_normal((4, 4))
    C = A @ A.T
    usual, alpha = 3.0, 0.05
    bars = AnytimeBounds(usual, joint=True).alone(C, np.full((4, 4), math.inf), alpha)
    D = np.eye(4)[[0, 2, 3]] - np.eye(4)[1]
    V, T = D @ C @ D.T, 0.5 * usual * D @ D.T
    for c, (i, k) in (([1.0, -1.0, 0.0], (0, 2)), ([0.0, 0.0, 1.0], (3, 1))):
        c = np.array(c)
        apart = bars[i, k] * math.sqrt(c @ V @ c)

        def log_ratio(x, V=V, T=T, c=c, apart=apart):
            x = x + c * (apart - c @ x) / (c @ c)
            zero = np.zeros(3)
            return multivariate_normal.logpdf(x, zero, V + T) - multivariate_normal.logpdf(x, zero, V)

        assert minimize(log_ratio, np.zeros(3)).fun == pytest.approx(math.log(1.0 / alpha), abs=1e-6)


@pytest.mark.parametrize("joint", [False, True])
def test_p_value_is_the_level_at_which_a_deviate_is_the_bound(joint):
    C, nu = np.diag([0.1, 0.2, 0.4]), np.full((3, 3), 300.0)
    found = AnytimeBounds(1.0, joint)
    for p in (0.2, 1e-3, 1e-9):
        assert found.p_value(C, nu, 0, 2, -found.alone(C, nu, p)[0, 2]) == pytest.approx(p, rel=1e-9)
    assert found.p_value(C, nu, 0, 2, 0.3) == 1.0
    assert math.isnan(found.p_value(C, nu, 0, 2, math.nan))


def test_the_smallest_p_value():
    C, nu = pair(1.0, 1e6)
    for z in (-60.0, 60.0, math.inf):
        p = AnytimeBounds(1.0, joint=False).p_value(C, nu, 0, 1, z)
        assert math.log(p) == pytest.approx(-690.0)


def test_usual_gaps():
    one = {"arm": np.array([0, 1]), "environment": np.array([0, 0]), "n": np.array([100.0, 300.0])}
    rates = np.array([0.2, 0.04])
    conversions = Cells(["A", "B"], ["x"], **one, mean=rates, squares=one["n"] * rates * (1.0 - rates))
    amounts = Cells(["A", "B"], ["x"], **one, mean=rates, squares=one["n"])
    assert (
        mixture_variance("ratio", conversions, 9.0)
        == mixture_variance("odds", conversions, 9.0)
        == 2.0 / MIXTURE_EVENTS
    )
    assert mixture_variance("difference", conversions, 9.0) == pytest.approx(2.0 * 0.08**2 / MIXTURE_EVENTS)
    assert mixture_variance("difference", amounts, 3.0) == 18.0 / MIXTURE_EVENTS


def test_a_random_walk_of_unknown_scale_is_not_caught():
    """4,000 walks looked at after each of 400 steps; 1.96 catches far more of them."""
    runs, steps = 4000, 400
    x = np.random.default_rng(7).standard_normal((runs, steps))
    n = np.arange(1.0, steps + 1.0)
    mean = np.cumsum(x, axis=1) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (np.cumsum(x**2, axis=1) - n * mean**2) / (n - 1.0)
        walk = np.abs(mean) / np.sqrt(spread / n)
    found = AnytimeBounds(1.0 / 25.0, joint=False)
    bars = np.full(steps, math.inf)
    for k in range(1, steps):
        C, nu = pair(1.0 / n[k], n[k] - 1.0)
        bars[k] = student_from_normal(found.alone(C, nu, 0.05)[0, 1], n[k] - 1.0)
    caught = int(np.count_nonzero((walk > bars).any(axis=1)))
    assert caught <= binom.isf(ALARM, runs, 0.05)
    assert caught > 0.01 * runs  # and it is no bound that nothing ever reaches
    assert np.mean((walk[:, 20:] > 1.96).any(axis=1)) > 0.25
