"""Cells that are simply wrong: found where they were planted, and nothing else; nothing changes without."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from tideproof.data import cells_from_arrays
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.outlying_cell_search import find_outlying_cells
from tideproof.stats.solve.least_squares import solve


def log(J=12, K=4, seed=0, omega=0.0, least=2, most=12, empty=0.2):
    random = np.random.default_rng(seed)
    n = random.integers(least, most + 1, (J, K)).astype(float)
    n[random.random((J, K)) < empty] = 0.0
    n[:, 0] = np.maximum(n[:, 0], 2.0)  # all arms meet the first
    mean = 20.0 * random.random((J, 1)) + 0.3 * np.arange(K) + omega * random.normal(size=(J, K))
    mean += random.normal(size=(J, K)) / np.sqrt(np.maximum(n, 1.0))
    squares = np.where(n > 1.0, random.chisquare(np.maximum(n - 1.0, 1.0)), 0.0)
    return n, mean, squares


def cells_of(n, mean, squares):
    environment, arm = np.nonzero(n)
    values = (x[environment, arm] for x in (n, mean, squares))
    return Cells(list(range(n.shape[1])), list(range(n.shape[0])), arm, environment, *values)


class RobustMeans(NamedTuple):
    """Effects of the arms, their connected groups, and the cells (J, K) that the search keeps."""

    mu: np.ndarray
    component: np.ndarray
    kept: np.ndarray


def robust_means(n, mean, squares):
    """Least squares on the cells that are not outlying."""
    cells = cells_of(n, mean, squares)
    believed = find_outlying_cells(cells).cells
    s = solve(cells if believed.all() else cells.select(np.flatnonzero(believed)))
    kept = np.zeros(n.shape, bool)
    kept[cells.environment, cells.arm] = believed
    return RobustMeans(s.mu, s.component, kept)


@pytest.mark.parametrize("omega", [0.0, 1.0])
def test_without_wrong_cells_it_is_least_squares_to_the_last_digit(omega):
    """Of honest cells one in 1.7 million is off by five standard errors; tau is an estimate, so a few more are."""
    same = 0
    for seed in range(60):
        found = robust_means(*log(seed=seed, omega=omega))
        n, mean, squares = log(seed=seed, omega=omega)
        s = solve(cells_of(n, mean, squares))
        if found.kept[n > 0.0].all():
            same += 1
            assert np.array_equal(found.mu, s.mu)
    assert same >= (60 if omega == 0.0 else 55)


@pytest.mark.parametrize("off", [-20.0, 20.0, 1e6])
@pytest.mark.parametrize("omega", [0.0, 0.5])
def test_wrong_cells_are_found_and_mu_is_that_of_the_others(off, omega):
    for seed in range(15):
        n, mean, squares = log(seed=seed, omega=omega, empty=0.0)
        wrong = np.zeros(n.shape, bool)
        wrong[seed % 12, 1 + seed % 3] = wrong[(seed + 5) % 12, 1 + (seed + 1) % 3] = True
        found = robust_means(n, mean + off * wrong, squares)
        assert np.array_equal(~found.kept, wrong), seed
        left = cells_of(np.where(wrong, 0.0, n), mean, squares)
        assert np.array_equal(found.mu, solve(left).mu)


def test_a_cell_wrong_inside_is_found_though_its_own_spread_is_huge():
    n, mean, squares = log(seed=1, empty=0.0)
    mean[3, 2] += 15.0
    squares[3, 2] += 1e4  # half of its rewards were logged in cents
    found = robust_means(n, mean, squares)
    assert [tuple(place) for place in np.argwhere(~found.kept).tolist()] == [(3, 2)]


def test_an_environment_whose_labels_were_mixed_up_goes_as_a_whole():
    n, mean, squares = log(seed=2, empty=0.0, least=30, most=40)
    mean[5] += np.array([-8.0, 9.0, 14.0, -3.0])
    found = find_outlying_cells(cells_of(n, mean, squares))
    assert np.flatnonzero(found.environments).tolist() == [5]
    assert not found.cells[cells_of(n, mean, squares).environment == 5].any()
    assert not found.torn


def test_of_two_arms_nobody_knows_which_is_wrong_and_the_day_goes():
    n, mean, squares = log(J=10, K=2, seed=3, empty=0.0)
    mean[4, 1] += 20.0
    found = find_outlying_cells(cells_of(n, mean, squares))
    assert np.flatnonzero(found.environments).tolist() == [4]
    assert np.count_nonzero(~found.cells) == 2


def test_a_shift_of_a_whole_environment_is_no_error():
    n, mean, squares = log(seed=4)
    mean[2] += 1e5
    assert find_outlying_cells(cells_of(n, mean, squares)).cells.all()


def test_where_every_day_is_different_nothing_is_off():
    n, mean, squares = log(seed=5, omega=10.0, empty=0.0)
    found = find_outlying_cells(cells_of(n, mean, squares))
    assert found.cells.all()
    assert not found.torn
    assert np.max(np.abs(found.z)) < 5.0


def test_nothing_is_left_out_where_nothing_checks_anything_or_too_much_is_off():
    one = Cells(
        [0, 1],
        [0],
        np.array([0, 1]),
        np.array([0, 0]),
        np.full(2, 5.0),
        np.array([0.0, 99.0]),
        np.full(2, 4.0),
    )
    found = find_outlying_cells(one)
    assert found.cells.all()
    assert np.isnan(found.z).all()
    n, mean, squares = (x[:2, :2] for x in log(seed=6, empty=0.0))
    mean = np.array(
        [[0.0, 0.0], [0.0, 50.0]]
    )  # two days that contradict each other: one is wrong, but which?
    found = find_outlying_cells(cells_of(n, mean, squares))
    assert found.cells.all()


def test_single_rewards_without_any_noise_inside_cells():
    random = np.random.default_rng(7)
    n = np.ones((15, 5))
    mean = 9.0 * random.random((15, 1)) + random.normal(size=(15, 5))
    mean[6, 3] += 25.0
    found = robust_means(n, mean, np.zeros_like(n))
    assert [tuple(place) for place in np.argwhere(~found.kept).tolist()] == [(6, 3)]


def test_rounding_is_no_noise_and_makes_no_cell_outlying():
    """Rewards that arms and days explain exactly, in 60 logs: in 8 of them honest cells were left out before."""
    environment, arm = np.repeat(np.arange(8), 12), np.tile(np.repeat(np.arange(3), 4), 8)
    for seed in range(60):
        shift = 20.0 * np.random.default_rng(seed).random(8)
        cells = cells_from_arrays(arm, environment, np.array([0.1, 0.7, 1.9])[arm] + shift[environment])
        assert find_outlying_cells(cells).cells.all()


def test_an_arm_is_not_lost_though_its_cells_contradict_each_other():
    n, mean, squares = log(seed=8, empty=0.0)
    n[2:, 3] = 0.0  # the last arm was seen twice only
    mean[0, 3] += 30.0
    found = robust_means(n, mean, squares)
    assert np.unique(found.component).size == 1


def test_the_winner_is_not_picked_by_wrong_cells():
    """5 % of cells off by 20 sigma: least squares errs in half of these logs, this as seldom as without them."""
    random = np.random.default_rng(9)
    plain = robust = clean = 0
    for seed in range(100):
        n, mean, squares = log(J=10, K=4, seed=seed, least=8, most=20)
        off = 20.0 * random.choice([-1.0, 1.0], n.shape) * (random.random(n.shape) < 0.05)
        clean += np.argmax(solve(cells_of(n, mean, squares)).mu) != 3
        plain += np.argmax(solve(cells_of(n, mean + off, squares)).mu) != 3
        robust += np.argmax(robust_means(n, mean + off, squares).mu) != 3
    assert plain > 40 > 4 * clean
    assert robust <= clean + 4


@pytest.mark.parametrize("unit", [1e-7, 1e-3, 1e4, 1e7])
@pytest.mark.parametrize("omega", [0.0, 0.5])
def test_the_unit_of_the_rewards_does_not_matter(unit, omega):
    n, mean, squares = log(seed=9, omega=omega, empty=0.0)
    mean[2, 1] += 30.0
    one = find_outlying_cells(cells_of(n, mean, squares))
    other = find_outlying_cells(cells_of(n, unit * mean, unit**2 * squares))
    assert np.flatnonzero(~one.cells).tolist() == [2 * 4 + 1]
    assert np.array_equal(one.cells, other.cells)
    assert other.z == pytest.approx(one.z, rel=1e-6)


def test_few_cells_that_nothing_checks_are_not_torn():
    n, mean, squares = np.full((2, 2), 5.0), np.array([[0.0, 9.0], [0.0, 0.0]]), np.full((2, 2), 4.0)
    n[1, 1] = 0.0
    found = find_outlying_cells(cells_of(n, mean, squares))
    assert found.cells.all()
    assert np.isnan(found.z).all()
    assert not found.environments.any()
    assert not found.torn


@pytest.mark.parametrize("off", [-16.0, 16.0])
def test_wrong_cells_are_found_where_all_others_fit_exactly(off):
    """Two groups of arms without any noise: all is 0 in the larger one, and two cells are wrong in the other."""
    n, mean = np.zeros((12, 12)), np.zeros((12, 12))
    n[:8, :8] = n[8:, 8:] = 1.0
    mean[8, 9], mean[10, 11] = off, -off
    found = robust_means(n, mean, np.zeros_like(n))
    assert np.argwhere((n > 0.0) & ~found.kept).tolist() == [[8, 9], [10, 11]]
