"""What cells know of themselves, and the graph of the arms, against sums written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import oracles
from tideproof.stats import cells as module
from tideproof.stats.cells import Cells, group_members, sum_by_index
from tideproof.stats.solve.least_squares import connected_components, invert_laplacian, link_weights

# pulls of three arms (and a fourth, unseen) in four environments, one of them empty, one with a single arm
COUNTS = np.array([[2.0, 3.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 4.0, 0.0], [0.0, 5.0, 0.0, 0.0]])
WEIGHTS = np.array([0.5, 2.0, 0.25, 3.0, 7.0])  # of its cells, row by row


def cells_of(*cells):
    """Return one environment with these rewards, a list an arm."""
    d = [np.asarray(x, float) - np.mean(x) for x in cells]
    n = np.array([len(x) for x in cells], float)
    arms = list(range(len(cells)))
    known = [np.array([(x**k).sum() for x in d]) for k in (2, 3, 4)]
    means = np.array([np.mean(x) for x in cells])
    return Cells(arms, [0], np.array(arms), np.zeros(len(arms), int), n, means, known[0], 0, None, *known[1:])


def test_rewards_of_0_and_1():
    bits = np.random.default_rng(0).random((2, 1000)) < [[0.003], [0.7]]
    assert cells_of(*bits).binary
    assert cells_of([0, 0], [1, 1]).binary
    one = cells_of(bits[1])
    np.testing.assert_allclose(
        module.bernoulli_moments(one.n, one.mean), (one.squares, one.cubes, one.fourths)
    )


@pytest.mark.parametrize("other", [[0, 2], [0.5, 0.5], [0.1, 0.9], [-1.0, 1.0], [0, 1, 0.5] + 997 * [1]])
def test_other_rewards(other):
    assert not cells_of([0, 1], other).binary


def test_rewards_that_only_add_up_like_0_and_1():
    """Their squares do, x (x - 1) adding up to 0; so do the ones; third and fourth powers do not."""
    x = 0.5 * (1.0 + np.sqrt(3.0))  # x^2 - x = 1/2, twice, against 4 of 0.5: -1/4 each
    like = cells_of([x, 1.0 - x, 0.5, 0.5, 0.5, 0.5], [0, 1])
    assert not like.binary
    assert replace(like, cubes=None, fourths=None).binary
    assert not replace(like, mean=like.mean + np.array([0.1, 0.0]), cubes=None, fourths=None).binary


def test_a_design_in_numbers():
    c = Cells.design(COUNTS)
    assert (c.K, c.J, c.dropped) == (4, 4, 0)
    assert (c.arms, c.environments) == ([0, 1, 2, 3], [0, 1, 2, 3])
    assert c.arm.tolist() == [0, 1, 0, 2, 1]
    assert c.environment.tolist() == [0, 0, 2, 2, 3]
    assert c.n.tolist() == [2.0, 3.0, 1.0, 4.0, 5.0]
    assert not c.mean.any()
    assert not c.squares.any()
    assert c.weight is c.n
    assert c.counts.tolist() == [3.0, 8.0, 4.0, 0.0]
    assert c.sizes.tolist() == c.totals.tolist() == [5.0, 0.0, 5.0, 5.0]
    assert c.arms_seen.tolist() == [2, 0, 2, 1]
    assert c.compares.tolist() == [True, False, True, False]
    assert c.shares.tolist() == [0.4, 0.6, 0.2, 0.8, 1.0]
    assert c.dense_shares().tolist() == [[0.4, 0.6, 0, 0], [0] * 4, [0.2, 0, 0.8, 0], [0, 1.0, 0, 0]]


def test_other_weights_leave_the_counts_alone():
    c = Cells.design(COUNTS)
    c = Cells(c.arms, c.environments, c.arm, c.environment, c.n, np.arange(5.0), np.full(5, 9.0), 3)
    w = c.weighted(WEIGHTS)
    assert w.weight.tolist() == WEIGHTS.tolist()
    assert (w.n.tolist(), w.mean.tolist(), w.dropped) == (c.n.tolist(), c.mean.tolist(), 3)
    assert not w.squares.any()
    assert c.squares.tolist() == [9.0] * 5
    assert w.sizes.tolist() == [5.0, 0.0, 5.0, 5.0]
    assert w.totals.tolist() == [2.5, 0.0, 3.25, 7.0]
    assert w.shares == pytest.approx([0.2, 0.8, 1 / 13, 12 / 13, 1.0])
    values = np.array([1.0, 6.0, 13.0, 0.0, 4.0])
    assert w.centred(values) == pytest.approx([-4.0, 1.0, 12.0, -1.0, 0.0])
    assert c.centred(values) == pytest.approx([-3.0, 2.0, 10.4, -2.6, 0.0])
    assert c.by_arm(values).tolist() == [14.0, 10.0, 0.0, 0.0]
    assert c.by_environment(values).tolist() == [7.0, 0.0, 13.0, 4.0]


@pytest.mark.parametrize("rows", [1, 3, 4, 100])
def test_blocks_hold_every_cell_once(monkeypatch, rows):
    monkeypatch.setattr(module, "BLOCK_NUMBERS", 4 * rows)
    c = Cells.design(COUNTS)
    whole, doubled = np.zeros_like(COUNTS), np.zeros_like(COUNTS)
    seen = []
    for environments, cells, (n, twice) in c.blocks(c.n, 2.0 * c.n):
        assert n.shape[0] <= rows
        whole[environments], doubled[environments] = n, twice
        seen += cells.tolist()
    assert whole.tolist() == COUNTS.tolist()
    assert doubled.tolist() == (2.0 * COUNTS).tolist()
    assert sorted(seen) == [0, 1, 2, 3, 4]


def test_sums_and_members():
    assert sum_by_index(np.array([2, 0, 2]), np.array([1.0, 5.0, 3.0]), 4).tolist() == [5.0, 0.0, 4.0, 0.0]
    assert list(group_members(np.zeros(0, int))) == []
    assert [(p, at.tolist()) for p, at in group_members(np.array([1, 4, 1, 0]))] == [
        (0, [3]),
        (1, [0, 2]),
        (4, [1]),
    ]


def test_links_are_what_direct_comparisons_tell():
    """Sum over environments of w_i w_k/W_j, written out."""
    c = Cells.design(COUNTS)
    found = link_weights(c)
    assert found == pytest.approx(
        np.array(
            [[4 / 5 + 1 / 5, 6 / 5, 4 / 5, 0], [6 / 5, 9 / 5 + 5, 0, 0], [4 / 5, 0, 16 / 5, 0], [0, 0, 0, 0]]
        )
    )
    by_weight = link_weights(c.weighted(WEIGHTS))
    assert by_weight[0, 1] == by_weight[1, 0] == pytest.approx(0.5 * 2.0 / 2.5)
    assert by_weight[0, 2] == pytest.approx(0.25 * 3.0 / 3.25)
    assert by_weight[0, 0] == pytest.approx(0.25 / 2.5 + 0.0625 / 3.25)


@pytest.mark.parametrize("kind", oracles.DESIGNS)
def test_links_are_symmetric_to_the_last_bit_whatever_the_blocks(monkeypatch, kind):
    arm, environment = oracles.design(kind, 9, 40, np.random.default_rng(3))
    counts = np.zeros((40, 9))
    np.add.at(counts, (environment, arm), 1.0)
    for size in (module.BLOCK_NUMBERS, 9 * 7):
        monkeypatch.setattr(module, "BLOCK_NUMBERS", size)
        found = link_weights(Cells.design(counts))
        assert np.array_equal(found, found.T)
        kept = counts[counts.sum(axis=1) > 0]
        assert found == pytest.approx((kept.T / kept.sum(axis=1)) @ kept, rel=1e-12)


def test_components_count_by_their_first_arm():
    linked = np.zeros((7, 7), bool)
    for i, k in ((1, 6), (6, 3), (2, 5)):
        linked[i, k] = linked[k, i] = True
    assert connected_components(linked).tolist() == [0, 1, 2, 1, 3, 2, 1]
    chain = np.eye(50, k=1, dtype=bool) | np.eye(50, k=-1, dtype=bool)
    assert not connected_components(chain[::-1, ::-1]).any()


def test_the_inverse_leaves_out_the_arm_with_most_links():
    """Two pairs, 0-2 by weight 4 and 1-3 by 0.5, and a triangle 4, 5, 6; ties go to the first."""
    between = np.zeros((7, 7))
    for i, k, w in ((0, 2, 4.0), (1, 3, 0.5), (4, 5, 1.0), (5, 6, 2.0), (4, 6, 1.0)):
        between[i, k] = between[k, i] = w
    P = invert_laplacian(between, np.array([0, 1, 0, 1, 2, 2, 2]))
    assert np.flatnonzero(~P.any(axis=1)).tolist() == [0, 1, 5]
    assert P[2, 2] == pytest.approx(0.25)
    assert P[3, 3] == pytest.approx(2.0)
    assert P[np.ix_([4, 6], [4, 6])] == pytest.approx(np.linalg.inv([[2.0, -1.0], [-1.0, 3.0]]))
    assert not P[np.ix_([0, 2], [1, 3, 4, 5, 6])].any()


@pytest.mark.parametrize("rarely", [True, False])
@pytest.mark.parametrize("block", [module.BLOCK_NUMBERS, 30])
def test_sums_over_environments_are_those_of_dense_matrices(rarely, block, monkeypatch):
    """The same sums whether arms meet often or rarely; the order of cells, empty environments, blocks."""
    random = np.random.default_rng(2)
    arms, environments = 12, 25
    place = random.choice(arms * environments, 90, replace=False)
    arm, environment = np.divmod(place, environments)
    environment[environment == 4] = 5
    place = np.unique(arm * environments + environment)
    random.shuffle(place)
    arm, environment = np.divmod(place, environments)
    zero = np.zeros(place.size)
    c = Cells(list(range(arms)), list(range(environments)), arm, environment, zero + 1.0, zero, zero)
    monkeypatch.setattr(module, "_SPARSE", 0 if rarely else np.inf)
    monkeypatch.setattr(module, "BLOCK_NUMBERS", block)
    assert c.arms_meet_rarely == rarely
    x, y = random.normal(size=(2, place.size))
    X, Y = np.zeros((2, environments, arms))
    X[environment, arm], Y[environment, arm] = x, y
    matrix = random.normal(size=(arms, arms))
    assert c.outer_sum(x, y) == pytest.approx(X.T @ Y, abs=1e-12)
    assert c.times_matrix(x, matrix) == pytest.approx((X @ matrix)[environment, arm], abs=1e-12)
