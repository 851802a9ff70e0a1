"""Quantiles, tails and integrals against scipy.stats and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tideproof.stats.best import student_inference
from tideproof.stats.best.student_inference import (
    chi2_tail,
    dunnett_constants,
    f_tail,
    normal_tail,
    pair_variances,
    probabilities_of_best,
    root_between,
    student_intervals,
    t_quantile,
)


@pytest.mark.parametrize(("level", "freedom"), [(0.5, 1.0), (0.9, 3.5), (0.99, 200.0)])
def test_quantiles_of_student_t(level, freedom):
    t = t_quantile(level, freedom)
    assert stats.t.cdf(t, freedom) - stats.t.cdf(-t, freedom) == pytest.approx(level, rel=1e-12)
    assert t > 0.0
    assert math.isnan(t_quantile(level, 0.0))
    found = student_intervals(np.array([1.0, 2.0]), np.array([4.0, 9.0]), np.array([freedom, 0.0]), level)
    assert found["se"].tolist() == [2.0, 3.0]
    assert found["low"] == pytest.approx([1.0 - 2.0 * t, math.nan], nan_ok=True)
    assert found["high"] == pytest.approx([1.0 + 2.0 * t, math.nan], nan_ok=True)


def test_tails():
    assert f_tail(2.3, 3.0, 11.5) == pytest.approx(stats.f.sf(2.3, 3.0, 11.5), rel=1e-12)
    assert chi2_tail(9.1, 4.0) == pytest.approx(stats.chi2.sf(9.1, 4.0), rel=1e-12)
    assert chi2_tail(0.0, 0.0) == 1.0
    for z in (-1.0, 0.0, 2.5, 20.0):
        assert normal_tail(z) == pytest.approx(stats.norm.sf(z), rel=1e-12)


def test_variances_of_pairs():
    A = np.random.default_rng(0).normal(size=(4, 6))
    C = A @ A.T
    for i in range(4):
        for k in range(4):
            c = np.eye(4)[i] - np.eye(4)[k]
            assert pair_variances(C)[i, k] == pytest.approx(c @ C @ c, abs=1e-12)


@pytest.mark.parametrize("freedom", [1.0, 6.0, 1e6])
def test_the_chance_of_three_equal_arms_is_an_angle(freedom):
    """P(x_0 - x_1 > 0, x_0 - x_2 > 0) = 1/4 + asin(rho)/(2 pi), whatever the degrees of freedom."""
    C = np.diag([1.0, 4.0, 0.25])
    chance, error = probabilities_of_best(np.zeros(3), 1.7, C, freedom)
    for i in range(3):
        k, m = (j for j in range(3) if j != i)
        rho = C[i, i] / math.sqrt((C[i, i] + C[k, k]) * (C[i, i] + C[m, m]))
        assert chance[i] == pytest.approx(0.25 + math.asin(rho) / (2 * math.pi), abs=5 * error + 1e-6)
    assert 0.0 <= error < 1e-3


def test_the_chance_of_two_arms_is_student_t_and_scales():
    mu, C = np.array([0.4, -0.3]), np.array([[2.0, 0.5], [0.5, 1.0]])
    for sigma in (0.5, 3.0):
        chance, error = probabilities_of_best(mu, sigma, C, 4.0)
        assert chance[0] == pytest.approx(stats.t.cdf(0.7 / (sigma * math.sqrt(2.0)), 4.0), abs=1e-12)
        assert chance.sum() == pytest.approx(1.0, abs=1e-12)
        assert error < 1e-12


@pytest.mark.parametrize("freedom", [3.0, 1e9])
@pytest.mark.parametrize("level", [0.3, 0.5, 0.9, 0.99])
def test_critical_values_of_two_arms_are_quantiles(level, freedom):
    C = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert dunnett_constants(C, np.full(2, freedom), level) == pytest.approx(
        [stats.t.ppf(level, freedom)] * 2, abs=2e-3
    )


@pytest.mark.parametrize("arms", [3, 5, 6, 12])
def test_critical_values_are_dunnetts(arms):
    """Equal covariances: one integral over the control's noise and the size of the noise, by quadrature."""
    freedom, level = 8.0, 0.9
    d = dunnett_constants(np.eye(arms), np.full(arms, freedom), level)
    z, w = np.polynomial.hermite_e.hermegauss(60)
    w = w / w.sum()
    u = (np.arange(400) + 0.5) / 400
    s = np.sqrt(stats.chi2.ppf(u, freedom) / freedom)
    inside = np.mean(w @ stats.norm.cdf(z[:, None] + math.sqrt(2.0) * d[0] * s) ** (arms - 1))
    assert inside == pytest.approx(level, abs=1.5e-3)
    assert d == pytest.approx(np.full(arms, d[0]), abs=0.02)


def test_critical_values_have_each_its_own_freedom():
    C = np.diag([1.0, 2.0, 0.5])
    freedom = np.array([3.0, 10.0, 40.0])
    d = dunnett_constants(C, freedom, 0.95)
    for i in range(3):
        assert d[i] == dunnett_constants(C, np.full(3, freedom[i]), 0.95)[i]


def test_a_root_between_two_ends():
    assert root_between(0.0, 3.0, lambda x: x**3 - 8.0) == pytest.approx(2.0, abs=1e-9)
    assert root_between(0.0, 3.0, lambda x: math.exp(9 * x) - math.exp(9.0)) == pytest.approx(1.0, abs=1e-9)
    assert root_between(0.0, 3.0, lambda x: 1e3 * (math.exp(-9.0) - math.exp(-9 * x))) == pytest.approx(
        1.0, abs=1e-7
    )
    assert root_between(1.0, 3.0, lambda x: x + 1.0) == 1.0  # beyond the lower end
    assert root_between(1.0, 3.0, lambda x: x - 9.0) == 3.0  # beyond the upper one
    assert root_between(2.0, 2.0, lambda x: x - 9.0) == 2.0
    rough = root_between(0.0, 3.0, lambda x: x**3 - 8.0, 0.1)
    assert 1e-9 < abs(rough**3 - 8.0) < 0.1


def test_directions_are_spread_evenly_on_the_sphere():
    """Mean 0 and covariance I/dimension, to the error of the lattice."""
    for dimension in (2, 5):
        v = student_inference.directions(4096, np.full(dimension, 0.3))
        assert v.shape == (4096, dimension)
        assert np.linalg.norm(v, axis=1) == pytest.approx(np.ones(4096), abs=1e-12)
        assert v.mean(axis=0) == pytest.approx(np.zeros(dimension), abs=5e-3)
        assert v.T @ v / 4096 == pytest.approx(np.eye(dimension) / dimension, abs=8e-3)


def test_the_radius_of_a_student_t_vector():
    r = np.array([-2.0, 0.0, 0.7, 3.0])
    want = 0.5 + 0.5 * np.sign(r) * stats.f.cdf(r**2 / 3, 3, 7.0)
    assert student_inference.radial_cdf(r, 3, 7.0) == pytest.approx(want, abs=1e-12)
    at, cdf = student_inference.radial_table(3, 7.0)
    assert cdf == pytest.approx(stats.f.cdf(at**2 / 3, 3, 7.0), abs=1e-12)
    assert (at[0], at[-1]) == pytest.approx((0.0, 2**12 - 1.0))


@pytest.mark.parametrize(("arms", "points"), [(2, 1024), (5, 1024), (6, 4096), (200, 2621)])
def test_how_many_directions_a_critical_value_takes(monkeypatch, arms, points):
    """What it costs; few arms have few directions to go."""
    taken, directions = [], student_inference.directions
    student_inference.centred_directions.cache_clear()
    monkeypatch.setattr(
        student_inference,
        "directions",
        lambda points, shift: taken.append(points) or directions(points, shift),
    )
    dunnett_constants(np.eye(arms), np.full(arms, 9.0), 0.9)
    assert taken == [points]


def test_no_direction_is_lost_at_the_ends_of_the_lattice():
    for shift in (0.0, 0.5):  # the normal quantile of 1 and of 0 would be infinite
        v = student_inference.directions(1, np.full(3, shift))
        assert np.abs(v) == pytest.approx(np.full((1, 3), math.sqrt(1 / 3)))


def test_the_share_of_directions_that_never_reach():
    r, cdf = np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5, 0.9])
    below = student_inference.largest_ratio_cdf(np.array([0.0, -3.0, 2.0, 1.0]), r, cdf)
    assert below(1.0) == pytest.approx((2 + 0.25 + 0.5) / 4)


@pytest.mark.parametrize(("arms", "points"), [(3, 4096), (100, 655), (1100, 64)])
def test_how_many_directions_a_chance_takes(monkeypatch, arms, points):
    class Enough(Exception):
        pass

    def directions(points, shift):
        raise Enough(points, shift.size)

    monkeypatch.setattr(student_inference, "directions", directions)
    with pytest.raises(Enough) as raised:
        probabilities_of_best(np.zeros(arms), 1.0, np.eye(arms), 9.0)
    assert raised.value.args == (points, arms - 1)


def test_of_many_arms_those_without_a_chance_are_left_out(monkeypatch):
    """Forty arms, most of them far behind: the chances of all together, to the error of the integration."""
    mu = np.concatenate([[5.0, 4.6, 4.0, 3.0], np.linspace(-9.0, -4.0, 36)])
    C = 0.5 * np.eye(40) + 0.2
    every, error = probabilities_of_best(mu, 1.0, C, 30.0)
    monkeypatch.setattr(student_inference, "MOST_JOINT_ARMS", 10)
    near, less = probabilities_of_best(mu, 1.0, C, 30.0)
    assert np.flatnonzero(near).tolist() == [0, 1, 2, 3]
    assert near == pytest.approx(every, abs=4.0 * (error + less) + 1e-4)
    assert near.sum() == pytest.approx(1.0)
    same, _ = probabilities_of_best(np.zeros(12), 1.0, np.eye(12), 30.0)  # none can be left out
    assert same == pytest.approx(np.full(12, 1.0 / 12.0), abs=0.01)


def test_a_point_at_an_end_of_the_lattice_is_the_last_quantile_that_a_float_has():
    for end, quantile in ((0.5, stats.norm.ppf(2.0**-53)), (0.0, -stats.norm.ppf(2.0**-53))):
        z = np.array([quantile, stats.norm.ppf(0.4)])
        (v,) = student_inference.directions(1, np.array([end, 0.3]))
        assert v == pytest.approx(z / np.linalg.norm(z), rel=1e-12)
