"""Multiplying tides against statsmodels and pyfixest; what lies at infinity; two arms exactly."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from multiplicative_logs import from_sums
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.scales.conditional_likelihood import cells_with_events, solve_ratio
from tideproof.stats.solve.least_squares import meat

CLOSE = 1e-8  # what iterations of others leave


def money(arms=4, environments=7, seed=0):
    """Draw sums of skewed money in an incomplete design, some of them 0."""
    random = np.random.default_rng(seed)
    counts = random.integers(1, 40, (environments, arms)) * (
        (np.arange(arms) + np.arange(environments)[:, None]) % 3 > 0
    )
    rate = np.exp(random.normal(size=(environments, 1)) + 0.3 * random.normal(size=arms))
    return from_sums(
        counts, random.gamma(np.maximum(0.2 * counts, 1e-3), 5.0 * rate) * (random.random(counts.shape) < 0.9)
    )


def glm(cells):
    import statsmodels.api as sm

    X = oracles.dummies(cells.arm, cells.environment, cells.K, cells.J)[:, 1:]
    model = sm.GLM(cells.n * cells.mean, X, family=sm.families.Poisson(), offset=np.log(cells.n))
    return model.fit(tol=1e-14, tol_criterion="params", maxiter=200)


@pytest.mark.parametrize("seed", range(4))
def test_ratio_is_poisson_with_dummies(seed):
    cells = money(seed=seed)
    theirs, ours = glm(cells), solve_ratio(cells)
    assert not ours.component.any()
    for i in range(1, cells.K):
        assert ours.gap(i, 0) == pytest.approx(theirs.params[i - 1], abs=CLOSE)
        variance = ours.P[i, i] + ours.P[0, 0] - 2.0 * ours.P[i, 0]
        assert np.sqrt(variance) == pytest.approx(theirs.bse[i - 1], rel=CLOSE)
    assert ours.fitted * cells.n == pytest.approx(theirs.mu, rel=CLOSE)
    level = ours.rate * np.exp(ours.theta[0])
    assert np.log(level) == pytest.approx(theirs.params[cells.K - 1 :], abs=CLOSE)


def test_ratio_is_fepois_of_pyfixest():
    import pyfixest as pf

    cells = money(5, 40, seed=3)
    rows = pd.DataFrame(
        {"y": cells.n * cells.mean, "arm": cells.arm, "day": cells.environment, "log_n": np.log(cells.n)}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = pf.fepois(
            "y ~ i(arm, ref=0) | day", rows, offset="log_n", iwls_tol=1e-12, fixef_tol=1e-12
        ).coef()
    ours = solve_ratio(cells)
    assert [ours.gap(i, 0) for i in range(1, 5)] == pytest.approx(theirs.to_numpy(), abs=CLOSE)


def test_covariance_of_cell_sums_is_a_sandwich():
    cells = money(seed=1)
    total = cells.n * cells.mean + 1.0
    cells = _with(cells, total)
    ours, q = solve_ratio(cells), np.random.default_rng(0).uniform(1.0, 9.0, cells.n.size)
    part, kept = cells_with_events(cells, ours)
    C = ours.P @ meat(part, q[kept]) @ ours.P
    step, moved = 1e-4, []
    for one in np.eye(cells.n.size):  # the delta method by differences
        up, down = (solve_ratio(_with(cells, total + sign * step * one)) for sign in (1.0, -1.0))
        moved.append([(up.gap(i, 0) - down.gap(i, 0)) / (2.0 * step) for i in range(cells.K)])
    want = np.einsum("ca,cb,c->ab", moved, moved, q)
    assert C - C[:1] - C[:, :1] + C[0, 0] == pytest.approx(want, rel=1e-6, abs=1e-9)


def _with(cells, total):
    return Cells(
        cells.arms, cells.environments, cells.arm, cells.environment, cells.n, total / cells.n, cells.squares
    )


def test_two_arms_in_one_environment_have_the_ratio_of_their_rates():
    cells = from_sums(np.array([[40, 60]]), np.array([[12, 9]]))
    assert np.exp(solve_ratio(cells).gap(0, 1)) == pytest.approx(12 / 40 / (9 / 60), rel=1e-12)


def test_an_arm_without_an_event():
    cells = from_sums(np.array([[10, 20, 30], [10, 20, 30]]), np.array([[2, 5, 0], [4, 3, 0]]))
    found = solve_ratio(cells)
    without = solve_ratio(from_sums(np.array([[10, 20], [10, 20]]), np.array([[2, 5], [4, 3]])))
    assert found.theta[2] == -np.inf
    assert (found.gap(2, 0), found.gap(0, 2)) == (-np.inf, np.inf)
    assert found.gap(1, 0) == pytest.approx(without.gap(1, 0), abs=1e-12)
    assert found.fitted[cells.arm == 2].tolist() == [0.0, 0.0]


def test_infinite_and_unknown_ratios_between_arms_with_events():
    # 0 and 1 each beat 2 where they met it; nothing tells 0 from 1. Events of 2 are against 3.
    counts = np.array([[9, 0, 9, 0], [0, 9, 9, 0], [0, 0, 9, 9], [9, 0, 0, 0]])
    total = np.array([[3, 0, 0, 0], [0, 3, 0, 0], [0, 0, 2, 4], [5, 0, 0, 0]])
    found = solve_ratio(from_sums(counts, total))
    assert found.gap(0, 2) == found.gap(1, 3) == np.inf
    assert found.gap(3, 0) == -np.inf
    assert np.isnan(found.gap(0, 1))
    assert found.gap(3, 2) == pytest.approx(np.log(2.0), abs=1e-12)
    assert np.isfinite(found.theta).all()
    assert found.rate[3] == pytest.approx(5 / 9 / np.exp(found.theta[0]))


def test_groups_that_never_met():
    cells = from_sums(np.array([[5, 5, 0, 0], [0, 0, 5, 5]]), np.array([[2, 4, 0, 0], [0, 0, 30, 10]]))
    found = solve_ratio(cells)
    assert found.component.tolist() == [0, 0, 1, 1]
    assert found.gap(1, 0) == pytest.approx(np.log(2.0))
    assert found.gap(2, 3) == pytest.approx(np.log(3.0))
    assert np.isnan(found.gap(0, 2))


def test_an_environment_with_one_arm_and_one_without_events_say_nothing():
    counts, total = np.array([[10, 20], [7, 9], [8, 0], [5, 6]]), np.array([[2, 5], [4, 3], [8, 0], [0, 0]])
    found, less = solve_ratio(from_sums(counts, total)), solve_ratio(from_sums(counts[:2], total[:2]))
    assert found.gap(1, 0) == pytest.approx(less.gap(1, 0), abs=1e-12)
    assert np.allclose(found.P, less.P, rtol=0.0, atol=1e-12)
    assert found.rate[3] == 0.0


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.floats(0.0, 6.0))
def test_ratios_without_noise_are_found_under_any_tide(seed, tide):
    cells = money(seed=seed)
    random = np.random.default_rng(seed)
    theta, rate = random.normal(size=cells.K), np.exp(tide * random.normal(size=cells.J))
    found = solve_ratio(_with(cells, cells.n * rate[cells.environment] * np.exp(theta[cells.arm])))
    assert [found.gap(i, 0) for i in range(cells.K)] == pytest.approx(theta - theta[0], abs=1e-7)
    assert found.rate == pytest.approx(rate * np.exp(theta[0] - found.theta[0]), rel=1e-7)


def test_negative_rewards_are_refused():
    cells = from_sums(np.array([[2, 2]]), np.array([[1.0, -3.0]]))
    with pytest.raises(
        InputError, match=r"needs rewards of 0 or more; the mean of 1 in 0 is -1\.5; use scale='difference'"
    ):
        solve_ratio(cells)
