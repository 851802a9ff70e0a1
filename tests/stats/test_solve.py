"""The one-shot solve against dense least squares and against the recursion."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import oracles
from oracles import contrast
from tideproof.core.kernel_state_arrays import allocate
from tideproof.kernels.fit import fixed_effects
from tideproof.kernels.fit.policy_data import Slot, enter
from tideproof.stats import cells as module
from tideproof.stats.cells import Cells
from tideproof.stats.scales.conditional_likelihood import solve_ratio
from tideproof.stats.solve import least_squares
from tideproof.stats.solve.adjusted_means import adjusted_means, environment_shifts
from tideproof.stats.solve.least_squares import meat, residuals, solve

ATOL = 1e-9  # sigma is 1; lstsq and pinv on matrices of a few hundred columns lose some digits
SIZES = [(2, 2), (3, 8), (5, 20), (12, 30), (50, 60)]


def cells(arm, environment, reward, arms, environments):
    pair, cell = np.unique(environment * arms + arm, return_inverse=True)
    n = np.bincount(cell).astype(float)
    mean = np.array([reward[cell == c].mean() for c in range(pair.size)])
    squares = np.array([((reward[cell == c] - mean[c]) ** 2).sum() for c in range(pair.size)])
    labels = list(range(arms)), list(range(environments))
    return Cells(*labels, pair % arms, pair // arms, n, mean, squares)


def drawn(kind, arms, environments, seed=0, shift=10.0):
    random = np.random.default_rng([seed, arms, environments])
    arm, environment = oracles.design(kind, arms, environments, random)
    return arm, environment, oracles.rewards(arm, environment, random, shift)


@pytest.mark.parametrize(("arms", "environments"), SIZES)
@pytest.mark.parametrize("kind", oracles.DESIGNS)
def test_solution_is_dense_least_squares(kind, arms, environments):
    for seed in range(8 if arms < 50 else 2):
        arm, environment, reward = drawn(kind, arms, environments, seed)
        reference = oracles.dense(arm, environment, reward, arms, environments)
        s = solve(cells(arm, environment, reward, arms, environments))

        connected = oracles.groups(arm, environment, arms)
        for group in connected:
            for i, k in combinations(sorted(group), 2):
                want = reference.combination(np.eye(arms + environments)[i] - np.eye(arms + environments)[k])
                assert contrast(s, i, k) == pytest.approx(want, abs=ATOL)
        for group, other in combinations(connected, 2):
            assert np.isnan(contrast(s, min(group), min(other))).all()
            assert not s.P[np.ix_(sorted(group), sorted(other))].any()
        assert s.rss == pytest.approx(reference.rss, abs=ATOL * reward.size)
        assert s.freedom == reference.freedom
        assert (s.told, s.environments) == (reward.size, np.unique(environment).size)
        seen = set(arm.tolist())
        assert s.joins == len(seen) - sum(1 for group in connected if group & seen)
        assert {frozenset(np.flatnonzero(s.group == g).tolist()) for g in range(1, s.group.max() + 1)} == {
            group for group in connected if len(group) > 1
        }
        assert np.array_equal(s.P, s.P.T)


@pytest.mark.parametrize("kind", oracles.DESIGNS)
def test_solution_is_what_the_recursion_arrives_at(kind):
    arms, environments = 6, 15
    arm, environment, reward = drawn(kind, arms, environments)
    fit = allocate(fixed_effects.FixedEffects, arms).view
    slots = [allocate(Slot, arms).view for _ in range(environments)]
    for i, j, r in zip(arm, environment, reward, strict=True):
        fixed_effects.observe(fit, slots[j], i, 1, r, 0.0)
        enter(slots[j], i, 1, r)
    s = solve(cells(arm, environment, reward, arms, environments))
    assert (s.told, s.environments, s.joins) == (fit.told[0], fit.environments[0], fit.joins[0])
    assert s.freedom == fixed_effects.degrees_of_freedom(fit)
    assert s.rss == pytest.approx(fit.rss[0], abs=ATOL)
    assert np.array_equal(s.group == 0, fit.group == 0)
    for i, k in combinations(range(arms), 2):
        assert fixed_effects.together(s, i, k) == fixed_effects.together(fit, i, k)
        if fixed_effects.together(fit, i, k):
            want = fit.mu[i] - fit.mu[k], fixed_effects.variance_to(fit.P, i, fit.P[i, i], fit.P[i], k)
            assert contrast(s, i, k) == pytest.approx(want, abs=ATOL)


@pytest.mark.parametrize("kind", ["complete", "lopsided"])
def test_means_and_shifts_are_combinations_of_the_dense_solution(kind):
    arms, environments = 5, 9
    arm, environment, reward = drawn(kind, arms, environments)
    reference = oracles.dense(arm, environment, reward, arms, environments)
    c = cells(arm, environment, reward, arms, environments)
    s = solve(c)

    found = zip(*adjusted_means(s, c), strict=True)
    for a, (estimate, variance) in enumerate(found):
        want = reference.combination(oracles.adjusted_mean(arm, environment, arms, environments, a))
        assert (estimate, variance) == pytest.approx(want, abs=ATOL)

    found = zip(*environment_shifts(s, c), strict=True)
    for e, (estimate, variance) in enumerate(found):
        want = reference.combination(oracles.relative_shift(arm, environment, arms, environments, e))
        assert (estimate, variance) == pytest.approx(want, abs=ATOL)

    residual, variance = residuals(s, c)
    X = oracles.dummies(c.arm, c.environment, arms, environments)
    leverage = np.sum(X @ reference.covariance * X, axis=1)
    assert residual == pytest.approx(c.mean - X @ reference.beta, abs=ATOL)
    assert variance == pytest.approx(1 / c.n - leverage, abs=ATOL)


def test_groups_are_read_out_apart():
    """What is known of two unconnected halves is what each would say alone."""
    arm = np.array([0, 1, 0, 1, 2, 3, 2, 3, 3])
    environment = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3])
    reward = np.random.default_rng(1).normal(size=9)
    whole = cells(arm, environment, reward, 4, 4)
    s = solve(whole)
    assert s.group.tolist() == [1, 1, 2, 2]
    assert s.component.tolist() == [0, 0, 1, 1]
    for half, first in ((arm < 2, 0), (arm >= 2, 2)):
        part = cells(arm[half] - first, environment[half] - first, reward[half], 2, 2)
        alone = solve(part)
        for adjusted, of_part in (
            (adjusted_means(s, whole), adjusted_means(alone, part)),
            (environment_shifts(s, whole), environment_shifts(alone, part)),
        ):
            for got, want in zip(adjusted, of_part, strict=True):
                assert got[first : first + 2] == pytest.approx(want, abs=1e-12)


def test_arm_and_environment_without_data():
    """Arm 1 was never seen, arm 3 met no other, environment 2 is empty."""
    arm, environment = np.array([0, 2, 0, 2, 3]), np.array([0, 0, 1, 1, 3])
    reward = np.array([1.0, 2.0, 3.0, 5.0, 7.0])
    c = cells(arm, environment, reward, 4, 4)
    s = solve(c)
    assert s.group.tolist() == [1, 0, 1, 0]
    assert s.component.tolist() == [0, 1, 0, 2]
    assert (s.told, s.environments, s.joins, s.freedom) == (5, 3, 1, 1)
    assert contrast(s, 2, 0) == pytest.approx((1.5, 1.0))
    assert not s.P[[1, 3]].any()
    mean, variance = adjusted_means(s, c)
    assert mean == pytest.approx([2.0, np.nan, 3.5, 7.0], nan_ok=True)
    assert variance == pytest.approx([0.5, np.nan, 0.5, 1.0], nan_ok=True)
    shift, variance = environment_shifts(s, c)
    assert shift == pytest.approx([-1.25, 1.25, np.nan, 0.0], nan_ok=True)
    assert variance == pytest.approx([0.25, 0.25, np.nan, 0.0], nan_ok=True)


def test_nothing_told_is_no_error():
    nothing = np.zeros(0)
    s = solve(Cells(list("ABC"), [], nothing.astype(int), nothing.astype(int), nothing, nothing, nothing))
    assert s.group.tolist() == [0, 0, 0]
    assert (s.rss, s.freedom) == (0.0, 0)


def test_shifts_of_a_million_sigma_do_no_harm():
    """The rewards themselves are rounded to 1e-10 sigma; nothing more may be lost."""
    arm, environment, reward = drawn("incomplete", 8, 200, shift=0.0)
    calm = solve(cells(arm, environment, reward, 8, 200))
    wild = reward + 1e6 * np.random.default_rng(3).normal(size=200)[environment]
    stormy = solve(cells(arm, environment, wild, 8, 200))
    assert stormy.mu == pytest.approx(calm.mu, abs=1e-9)
    assert stormy.rss == pytest.approx(calm.rss, rel=1e-9)
    assert np.array_equal(stormy.P, calm.P)


def test_a_faint_link_is_not_lost_beside_heavy_arms():
    """Two pairs of arms, a million rewards each, linked by a single pair of rewards.

    In closed form: arms 1 and 2 are the ends of the link, alone in environment 2.
    """
    arm, environment = np.array([0, 1, 2, 3, 1, 2]), np.array([0, 0, 1, 1, 2, 2])
    n = np.array([1e6, 1e6, 1e6, 1e6, 1.0, 1.0])
    mean = np.array([1.0, 3.0, 105.0, 104.0, -50.0, -49.5])
    s = solve(Cells(list("ABCD"), [0, 1, 2], arm, environment, n, mean, np.zeros(6)))
    assert contrast(s, 1, 0) == pytest.approx((2.0, 2e-6), rel=1e-9)
    assert contrast(s, 2, 1) == pytest.approx((0.5, 2.0), rel=1e-9)
    assert contrast(s, 3, 0) == pytest.approx((1.5, 2.0 + 4e-6), rel=1e-9)


def test_blocks_of_environments_change_nothing(monkeypatch):
    arm, environment, reward = drawn("one-arm environments", 5, 40)
    c = cells(arm, environment, reward, 5, 40)
    at_once = solve(c)
    want = [at_once.mu, *environment_shifts(at_once, c), *residuals(at_once, c)]
    monkeypatch.setattr(module, "BLOCK_NUMBERS", 35)  # seven environments at a time
    assert [block.shape for _, _, (block,) in c.blocks(c.n)] == [(7, 5)] * 5 + [(5, 5)]
    s = solve(c)
    for got, value in zip([s.mu, *environment_shifts(s, c), *residuals(s, c)], want, strict=True):
        assert got == pytest.approx(value, abs=1e-12)


def test_cells_come_in_any_order():
    arm, environment, reward = drawn("incomplete", 5, 30)
    c = cells(arm, environment, reward, 5, 30)
    order = np.random.default_rng(0).permutation(c.n.size)
    columns = (column[order] for column in (c.arm, c.environment, c.n, c.mean, c.squares))
    s, t = solve(c), solve(Cells(c.arms, c.environments, *columns))
    assert t.mu == pytest.approx(s.mu, abs=1e-12)
    assert pytest.approx(s.P, abs=1e-12) == t.P


def test_many_arms_in_few_environments_are_solved_through_these(monkeypatch):
    """Two groups, an arm unseen and one that was always alone: the same numbers as by inverting L."""
    random = np.random.default_rng(4)
    n = random.integers(0, 6, (9, 60)).astype(float)
    n[:4, :30] = n[4:, 30:] = n[:, 7] = n[8] = 0.0
    n[8, 59] = 3.0
    n[:8, 59] = 0.0
    environment, arm = np.nonzero(n)
    n, mean = n[environment, arm], random.normal(size=arm.size)
    cells = Cells(list(range(60)), list(range(9)), arm, environment, n, mean, np.ones(arm.size))
    middle = meat(cells, n * random.uniform(1.0, 2.0, n.size))
    direct = solve(cells)
    monkeypatch.setattr(least_squares, "MOST_DENSE_ARMS", 10)
    found = solve(cells)
    assert direct.short is None
    assert found.short is not None
    for name in ("P", "mu", "rss"):
        assert getattr(found, name) == pytest.approx(getattr(direct, name), rel=1e-12, abs=1e-12)
    assert found.group.tolist() == direct.group.tolist()
    assert found.component.tolist() == direct.component.tolist()
    covariance = least_squares.sandwich(found.P, middle, found.short)
    assert covariance == pytest.approx(direct.P @ middle @ direct.P, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize(
    ("arms", "environments", "factored"), [(32, 8, True), (31, 8, False), (32, 9, False)]
)
def test_covariances_are_factored_from_four_arms_for_each_environment_on(
    arms, environments, factored, monkeypatch
):
    monkeypatch.setattr(least_squares, "MOST_DENSE_ARMS", 10)
    design = Cells.design(np.ones((environments, arms)))
    assert (least_squares.factor_inverse(design) is not None) == factored


def test_ratios_of_many_arms_in_few_environments(monkeypatch):
    random = np.random.default_rng(5)
    n = random.integers(0, 6, (8, 60)).astype(float)
    environment, arm = np.nonzero(n)
    n = n[environment, arm]
    mean = random.poisson(0.4 * n) / n
    cells = Cells(list(range(60)), list(range(8)), arm, environment, n, mean, np.ones(arm.size))
    direct = solve_ratio(cells)
    monkeypatch.setattr(least_squares, "MOST_DENSE_ARMS", 10)
    found = solve_ratio(cells)
    assert found.short is not None
    assert found.component.tolist() == direct.component.tolist()
    for name in ("P", "theta", "fitted", "rate"):
        assert getattr(found, name) == pytest.approx(getattr(direct, name), rel=1e-9, abs=1e-9)
